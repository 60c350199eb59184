//! Which steps are meant.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use ledger::StepWork;

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

/// Steps by their numbers or by what they do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepChoice {
    /// By number.
    Numbers(StepNumbers),
    /// By [`ledger::StepWork::kind`]: `decode`.
    Kind(String),
}

impl FromStr for StepChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(numbers) = text.parse() {
            return Ok(Self::Numbers(numbers));
        }
        match text.starts_with(|it: char| it.is_ascii_digit() || it == '-') || text.is_empty() {
            true => Err(format!(
                "`{text}` is no step; expected a number, a range such as 3-7, or a kind such as decode"
            )),
            false => Ok(Self::Kind(text.to_owned())),
        }
    }
}

impl From<u32> for StepChoice {
    fn from(step: u32) -> Self {
        Self::Numbers(step.into())
    }
}

impl fmt::Display for StepChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbers(numbers) => numbers.fmt(f),
            Self::Kind(kind) => kind.fmt(f),
        }
    }
}

impl StepChoice {
    /// The step, if it is one by its number.
    #[must_use]
    pub fn single(&self) -> Option<u32> {
        match self {
            Self::Numbers(numbers) => numbers.single(),
            Self::Kind(_) => None,
        }
    }

    /// Whether a step is meant that has a number, and works on something if that is known.
    #[must_use]
    pub fn is_match(&self, step: u32, work: Option<&StepWork>) -> bool {
        match self {
            Self::Numbers(numbers) => numbers.contains(step),
            Self::Kind(kind) => work.is_some_and(|it| it.kind == *kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_chosen_by_number_or_by_what_they_do() {
        let choice = |text: &str| text.parse::<StepChoice>();
        let work = StepWork { kind: "decode".to_owned(), requests: Some(3), tokens: None };
        for (text, step, work, is_meant) in [
            ("3-7", 4, None, true),
            ("3-7", 8, Some(&work), false),
            ("decode", 8, Some(&work), true),
            ("decode", 8, None, false),
            ("prefill", 8, Some(&work), false),
        ] {
            let choice = choice(text).unwrap();
            assert_eq!(choice.is_match(step, work), is_meant, "{text} {step}");
            assert_eq!(choice.to_string(), text);
        }
        assert_eq!(
            ["4", "4-5", "decode"].map(|it| choice(it).unwrap().single()),
            [Some(4), None, None]
        );
        for text in ["", "-1", "7-3", "3-", "1-2-3", "3x"] {
            assert!(choice(text).unwrap_err().contains("is no step"), "{text}");
        }
    }

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
