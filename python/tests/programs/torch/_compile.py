"""What keeps a function from being compiled, which notes something at it, as PyTorch's does: it must be a plain function."""


def _disable_dynamo(function, recursive=True):
    function.__dynamo_disable = recursive
    return function
