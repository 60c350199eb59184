//! The screen of `perfline top`: hot lines or findings, the source around the chosen one, and what is known of it.
//!
//! *Owns*: what is chosen ([`Screen`]), what a key does ([`Screen::press`]), how it is drawn ([`draw()`]).
//!
//! *Never*: opens a terminal or a file, reads a key (the program does); computes a number or words a finding (`ide` and `report` do).
//!
//! *The tests that say so*: `tests/tests/top.rs`, whole screens of recordings of the fixtures as text; `tests/tests/tidy/` holds the
//! dependency list.

mod chosen_line;
mod draw;
mod screen;
mod screen_filter;

pub use chosen_line::OpenFile;
pub use draw::draw;
pub use screen::{Outcome, Screen};
pub use screen_filter::ScreenFilter;
