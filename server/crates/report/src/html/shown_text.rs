//! Text on a page.

use maud::Render;

use crate::terminal::clean;

/// Text that may come from a recording.
pub(super) struct ShownText<'a>(pub(super) &'a str);

impl Render for ShownText<'_> {
    fn render_to(&self, buffer: &mut String) {
        clean(self.0).render_to(buffer);
    }
}
