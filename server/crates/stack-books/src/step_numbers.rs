//! Which steps are meant.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Steps by their numbers: one (`3`) or a range (`3-7`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepNumbers(RangeInclusive<u32>);

impl FromStr for StepNumbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) if first <= last => Ok(Self(first..=last)),
            _ => Err(format!("`{text}` is no step; expected a number, or a range such as 3-7")),
        }
    }
}

impl From<u32> for StepNumbers {
    fn from(step: u32) -> Self {
        Self(step..=step)
    }
}

impl fmt::Display for StepNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.0.start(), self.0.end());
        if first == last { write!(f, "{first}") } else { write!(f, "{first}-{last}") }
    }
}

impl StepNumbers {
    /// The step, if it is one.
    #[must_use]
    pub fn single(&self) -> Option<u32> {
        (self.0.start() == self.0.end()).then_some(*self.0.start())
    }

    /// Whether a step is meant.
    #[must_use]
    pub fn contains(&self, step: u32) -> bool {
        self.0.contains(&step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_numbers_and_ranges() {
        let steps = |text: &str| text.parse::<StepNumbers>();
        let range = steps("3-7").unwrap();
        assert_eq!([range.single(), steps("4").unwrap().single()], [None, Some(4)]);
        assert_eq!([2, 3, 7, 8].map(|it| range.contains(it)), [false, true, true, false]);
        assert_eq!(["4", "3-7", "5-5"].map(|it| steps(it).unwrap().to_string()), ["4", "3-7", "5"]);
        for text in ["", "-1", "7-3", "3-", "a", "1-2-3"] {
            assert!(steps(text).unwrap_err().contains("is no step"), "{text}");
        }
    }
}
