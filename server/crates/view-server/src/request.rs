//! What can be asked for.

use serde::{Deserialize, Serialize};

/// A picture of which parts can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Picture {
    /// `perfline.timeline/1`.
    Timeline,
    /// `perfline.memoryTimeline/1`.
    Memory,
}

/// A part of a picture; what is absent is as in the page. As arguments of the language server's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct PicturePart {
    /// Where it begins: nanoseconds from the first event, or the number of an event.
    pub from: Option<i64>,
    /// Where it ends.
    pub to: Option<i64>,
    /// The number of a step.
    pub step: Option<u32>,
    /// The rank.
    pub rank: Option<u32>,
    /// The number of a device in its rank.
    pub device: Option<i32>,
    /// Of which moment the segments of a device are: the number of an event, or -1 for before the first.
    pub moment: Option<i64>,
}

impl PicturePart {
    /// Begin and end, if both are named and there is something between them.
    #[must_use]
    pub fn range(&self) -> Option<(i64, i64)> {
        self.from.zip(self.to).filter(|(from, to)| 0 <= *from && from < to)
    }
}

/// The body of a request for a part of a picture.
#[derive(Debug, Deserialize)]
pub(crate) struct PictureRequest {
    pub(crate) picture: Picture,
    #[serde(flatten)]
    pub(crate) part: PicturePart,
}

/// A line, by the name of its file that the page shows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ViewPlace {
    /// The file.
    pub file: String,
    /// Counted from 1, as recorded.
    pub line: u32,
}
