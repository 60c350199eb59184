//! What a hint says: by itself, or by a template.

use ledger::LineBooks;
use metrics::Quantity;
use metrics::numbers;

use crate::scale::Scale;
use crate::view::{Charge, UnknownName};

/// How the text of a hint is made.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Format {
    /// What is notable in the metric of the view, the largest first.
    #[default]
    Auto,
    /// Text with placeholders ([`PLACEHOLDERS`]) in braces. What stands in square brackets is left out where one of
    /// its placeholders has nothing to say: `{cuda} gpu[ +{backward} bwd][ · {wait} wait ×{waits}]`.
    Template(Template),
}

/// A template, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Value(Placeholder),
    Optional(Vec<Part>),
}

type Placeholder = &'static str;

/// What a template may name.
pub const PLACEHOLDERS: [&str; 13] = [
    "share", "cpu", "cuda", "backward", "wait", "waits", "waiting", "idle", "comm", "alloc",
    "peak", "kernels", "calls",
];

impl Format {
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
        Ok(Self::Template(Template(parts)))
    }
}

/// Reads up to the end of the text or, inside brackets, to `]`; returns what follows.
fn parts(text: &str, is_optional: bool) -> Result<(Vec<Part>, &str), String> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let end = rest.find(['{', '[', ']']).unwrap_or(rest.len());
        if end > 0 {
            parts.push(Part::Text(rest[..end].to_owned()));
        }
        rest = &rest[end..];
        if let Some(inside) = rest.strip_prefix('{') {
            let (name, after) = inside.split_once('}').ok_or("\"{\" without a \"}\" after it")?;
            let known = PLACEHOLDERS.into_iter().find(|it| *it == name);
            let known = known
                .ok_or_else(|| UnknownName::new("placeholder", name, PLACEHOLDERS).to_string())?;
            parts.push(Part::Value(known));
            rest = after;
        } else if let Some(inside) = rest.strip_prefix('[') {
            if is_optional {
                return Err("\"[\" inside of \"[…]\"".to_owned());
            }
            let (optional, after) = self::parts(inside, true)?;
            rest = after.strip_prefix(']').ok_or("\"[\" without a \"]\" after it")?;
            parts.push(Part::Optional(optional));
        } else {
            return Ok((parts, rest));
        }
    }
}

impl Template {
    /// The text for a line; `None` if no placeholder has anything to say.
    pub(crate) fn fill(&self, scale: &Scale<'_>, books: &LineBooks) -> Option<String> {
        let mut text = String::new();
        let mut any = false;
        for part in &self.0 {
            match part {
                Part::Text(it) => text += it,
                Part::Value(name) => {
                    let value = value(name, scale, books);
                    any |= value.is_some();
                    text += value.as_deref().unwrap_or("0");
                }
                Part::Optional(parts) => {
                    if let Some(it) = fill_whole(parts, scale, books) {
                        any |= parts.iter().any(|part| matches!(part, Part::Value(_)));
                        text += &it;
                    }
                }
            }
        }
        any.then(|| text.trim().to_owned())
    }
}

/// The text of all parts, if all of them have one.
fn fill_whole(parts: &[Part], scale: &Scale<'_>, books: &LineBooks) -> Option<String> {
    let texts = parts.iter().map(|part| match part {
        Part::Text(text) => Some(text.clone()),
        Part::Value(name) => value(name, scale, books),
        Part::Optional(parts) => fill_whole(parts, scale, books),
    });
    texts.collect()
}

/// The text of a placeholder; `None` where there is nothing, or nothing known.
fn value(name: &str, scale: &Scale<'_>, books: &LineBooks) -> Option<String> {
    let own = scale.charge == Charge::Own;
    let quantity = match name {
        "cpu" if own => Quantity::CpuBusy,
        "cpu" => Quantity::CpuTotal,
        "cuda" if own => Quantity::CudaOwn,
        "cuda" => Quantity::CudaTotal,
        "backward" => scale.backward(),
        "wait" => Quantity::Wait,
        "waiting" => Quantity::Waiting,
        "waits" => Quantity::Waits,
        "idle" => Quantity::Idle,
        "comm" => Quantity::Comm,
        "alloc" => Quantity::Alloc,
        "peak" => Quantity::Peak,
        "kernels" => Quantity::Kernels,
        "calls" => Quantity::Calls,
        _ => scale.primary(),
    };
    let value = scale.value(quantity, books).filter(|&value| 0.0 < value)?;
    Some(match name {
        "share" => numbers::percent(scale.share(quantity, value)),
        _ => quantity.text(value),
    })
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
            let scale = Scale::new(&ledger, &view);
            let (_, books) =
                crate::place::lines_of(&ledger, "train.py").find(|(key, _)| key.line == line)?;
            match Format::parse(template) {
                Ok(Format::Template(template)) => template.fill(&scale, books),
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
            assert_eq!(Format::parse(template), Err(message.to_owned()));
        }
        assert_eq!(Format::parse("auto"), Ok(Format::Auto));
    }
}
