//! What a hint says: by itself, or by a template.

use ledger::LineBooks;
use metrics::Quantity;
use metrics::numbers;

use crate::scale::ViewScale;
use crate::shown::ShownQuantity;
use crate::view::UnknownName;

/// How the text of a hint is made.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum HintFormat {
    /// What is notable in the metric of the view, the largest first.
    #[default]
    Auto,
    /// Text with placeholders ([`placeholders`]) in braces. What stands in square brackets is left out where one of
    /// its placeholders has nothing to say: `{cuda} gpu[ +{backward} bwd][ · {wait} wait ×{waits}]`.
    Template(HintTemplate),
}

/// A template, read.
#[derive(Debug, Clone, PartialEq)]
pub struct HintTemplate(Vec<HintPart>);

#[derive(Debug, Clone, PartialEq)]
enum HintPart {
    Text(String),
    /// The share of what the view shows.
    Share,
    Value(ShownQuantity),
    Optional(Vec<HintPart>),
}

/// The placeholder for the share of what the view shows.
const SHARE: &str = "share";

/// The placeholders for quantities.
const QUANTITIES: [(&str, ShownQuantity); 12] = [
    ("cpu", ShownQuantity::CPU),
    ("cuda", ShownQuantity::CUDA),
    ("backward", ShownQuantity::Backward),
    ("wait", ShownQuantity::Always(Quantity::Wait)),
    ("waits", ShownQuantity::Always(Quantity::Waits)),
    ("waiting", ShownQuantity::Always(Quantity::Waiting)),
    ("idle", ShownQuantity::Always(Quantity::Idle)),
    ("comm", ShownQuantity::Always(Quantity::Comm)),
    ("alloc", ShownQuantity::Always(Quantity::Alloc)),
    ("peak", ShownQuantity::Always(Quantity::Peak)),
    ("kernels", ShownQuantity::Always(Quantity::Kernels)),
    ("calls", ShownQuantity::Always(Quantity::Calls)),
];

/// What a template may name.
pub fn placeholders() -> impl Iterator<Item = &'static str> {
    [SHARE].into_iter().chain(QUANTITIES.map(|(name, _)| name))
}

/// The part of a placeholder.
fn placeholder(name: &str) -> Result<HintPart, UnknownName> {
    if name == SHARE {
        return Ok(HintPart::Share);
    }
    let known = QUANTITIES.into_iter().find(|(it, _)| *it == name);
    known
        .map(|(_, shown)| HintPart::Value(shown))
        .ok_or_else(|| UnknownName::new("placeholder", name, placeholders()))
}

impl HintFormat {
    /// Reads `auto` or a template.
    ///
    /// # Errors
    /// If a placeholder is none, or a bracket or brace has no partner; the message is one line and says what may be
    /// written.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let (parts, rest) = parts(text, false)?;
        if !rest.is_empty() {
            return Err("\"]\" without a \"[\" before it".to_owned());
        }
        Ok(Self::Template(HintTemplate(parts)))
    }
}

/// Reads up to the end of the text or, inside brackets, to `]`; returns what follows.
fn parts(text: &str, is_optional: bool) -> Result<(Vec<HintPart>, &str), String> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let end = rest.find(['{', '[', ']']).unwrap_or(rest.len());
        if end > 0 {
            parts.push(HintPart::Text(rest[..end].to_owned()));
        }
        rest = &rest[end..];
        if let Some(inside) = rest.strip_prefix('{') {
            let (name, after) = inside.split_once('}').ok_or("\"{\" without a \"}\" after it")?;
            parts.push(placeholder(name).map_err(|error| error.to_string())?);
            rest = after;
        } else if let Some(inside) = rest.strip_prefix('[') {
            if is_optional {
                return Err("\"[\" inside of \"[…]\"".to_owned());
            }
            let (optional, after) = self::parts(inside, true)?;
            rest = after.strip_prefix(']').ok_or("\"[\" without a \"]\" after it")?;
            parts.push(HintPart::Optional(optional));
        } else {
            return Ok((parts, rest));
        }
    }
}

impl HintTemplate {
    /// The text for a line; `None` if no placeholder has anything to say.
    pub(crate) fn fill(&self, scale: &ViewScale<'_>, books: &LineBooks) -> Option<String> {
        let mut text = String::new();
        let mut any = false;
        for part in &self.0 {
            match part {
                HintPart::Text(it) => text += it,
                HintPart::Share | HintPart::Value(_) => {
                    let value = value(part, scale, books);
                    any |= value.is_some();
                    text += value.as_deref().unwrap_or("0");
                }
                HintPart::Optional(parts) => {
                    if let Some(it) = fill_whole(parts, scale, books) {
                        any |= parts
                            .iter()
                            .any(|it| matches!(it, HintPart::Share | HintPart::Value(_)));
                        text += &it;
                    }
                }
            }
        }
        any.then(|| text.trim().to_owned())
    }
}

/// The text of all parts, if all of them have one.
fn fill_whole(parts: &[HintPart], scale: &ViewScale<'_>, books: &LineBooks) -> Option<String> {
    parts.iter().map(|part| value(part, scale, books)).collect()
}

/// The text of a part; `None` where there is nothing, or nothing known.
fn value(part: &HintPart, scale: &ViewScale<'_>, books: &LineBooks) -> Option<String> {
    let number = |quantity| scale.value(quantity, books).filter(|&value| 0.0 < value);
    match part {
        HintPart::Text(text) => Some(text.clone()),
        HintPart::Share => {
            let share = scale.share(scale.primary(), number(scale.primary())?);
            Some(numbers::percent(share))
        }
        HintPart::Value(shown) => {
            let quantity = scale.quantity(*shown);
            Some(quantity.text(number(quantity)?))
        }
        HintPart::Optional(parts) => fill_whole(parts, scale, books),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::View;
    use crate::testing::ledger;

    #[test]
    fn templates() {
        let ledger = ledger(
            "step 1 10ms\nstep 2 10ms\n1 cuda=2.5ms cuda_backward=3ms kernels=8\n2 calls=2\n",
        );
        let fill = |template: &str, line: u32| {
            let view = View::default();
            let scale = ViewScale::new(&ledger, &view);
            let (_, books) =
                crate::place::lines_of(&ledger, "train.py").find(|(key, _)| key.line == line)?;
            match HintFormat::parse(template) {
                Ok(HintFormat::Template(template)) => template.fill(&scale, books),
                it => panic!("{it:?}"),
            }
        };
        let rows = [
            ("{cuda} gpu", Some("2.5 ms gpu"), None),
            ("{share}", Some("25 %"), None),
            ("{share}[ +{backward}][ · {wait} wait ×{waits}]", Some("25 % +3 ms"), None),
            ("[{kernels} kernels, ]{calls} calls", Some("8 kernels, 0 calls"), Some("2 calls")),
            ("nothing", None, None),
        ];
        for (template, first, second) in rows {
            assert_eq!(
                (fill(template, 1).as_deref(), fill(template, 2).as_deref()),
                (first, second),
                "{template}"
            );
        }
    }

    #[test]
    fn errors_say_what_may_be_written() {
        let rows = [
            (
                "{gpu}",
                "unknown placeholder `gpu`, expected one of: share, cpu, cuda, backward, wait, waits, waiting, idle, comm, alloc, \
                 peak, kernels, calls",
            ),
            ("{cuda", "\"{\" without a \"}\" after it"),
            ("[{cuda}", "\"[\" without a \"]\" after it"),
            ("{cuda}]", "\"]\" without a \"[\" before it"),
            ("[a [b]]", "\"[\" inside of \"[…]\""),
        ];
        for (template, message) in rows {
            assert_eq!(HintFormat::parse(template), Err(message.to_owned()));
        }
        assert_eq!(HintFormat::parse("auto"), Ok(HintFormat::Auto));
    }
}
