return require('perfline.client').config()
