//! What `torch.compile` made of a line: the generated lines that call it, and the other lines that are in it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ledger::{HostDeviceTime, Ledger, LineBooks, LineKey, Ns};
use metrics::numbers::duration;

use crate::line_name::line_name;
use crate::place::{Placed, PlacedSource, base_name};
use crate::scale::ViewScale;
use crate::sections::{LineSection, RichText, paragraph};

/// Generated lines, and lines that are in one, that are shown at most.
const MAX_SHOWN: usize = 3;

/// Characters of the name of a generated file that are shown: a hash, of which these are enough to know it again.
const NAME_LENGTH: usize = 8;

/// The time of generated lines that belongs to a line: on devices, where the recording has any, else of threads.
pub(crate) fn generated_times(ledger: &Ledger, books: &LineBooks) -> BTreeMap<LineKey, Ns> {
    let times = books.generated.iter().map(|(line, &time)| (line.clone(), shown(ledger, time)));
    times.filter(|(_, time)| *time != Ns::ZERO).collect()
}

fn shown(ledger: &Ledger, time: HostDeviceTime) -> Ns {
    if ledger.devices.is_empty() { time.cpu } else { time.cuda }
}

/// What the compiler made of the line, or, of a line of a generated file, of what it was made.
pub(crate) fn section(
    source: &PlacedSource<'_>,
    scale: &ViewScale<'_>,
    placed: &Placed<'_>,
) -> Option<LineSection> {
    let here = LineKey { file: source.key.to_owned(), line: placed.recorded };
    let mut times: Vec<_> = generated_times(source.ledger, &placed.books).into_iter().collect();
    if times.is_empty() {
        return made_from(source, scale, &here);
    }
    times.sort_by_key(|(line, time)| (Reverse(*time), line.clone()));
    let texts = times.iter().take(MAX_SHOWN).map(|(line, time)| {
        let parts = parts(source.ledger, line);
        let all: Ns = parts.iter().map(|(_, time)| *time).sum();
        let time_text = duration(scale.mean(time.as_f64()));
        let text = generated_name(source.ledger, line);
        if parts.len() < 2 {
            return text.and(format!(" ({time_text})"));
        }
        let all = duration(scale.mean(all.as_f64()));
        let others = parts.iter().filter(|(it, _)| *it != here).map(|(it, _)| it);
        text.and(format!(" ({time_text} of {all}, fused with "))
            .and_text(names(source, others))
            .and(")")
    });
    let text = RichText::words("Compiled into ").and_text(RichText::joined(texts, ", "));
    let rest = times.get(MAX_SHOWN..).unwrap_or_default();
    let more = match rest.len() {
        0 => String::new(),
        n => {
            let sum: Ns = rest.iter().map(|(_, time)| *time).sum();
            format!(", and {n} more lines ({})", duration(scale.mean(sum.as_f64())))
        }
    };
    paragraph(text.and(more).and("."))
}

/// The lines that a line of a generated file was made from.
fn made_from(
    source: &PlacedSource<'_>,
    scale: &ViewScale<'_>,
    here: &LineKey,
) -> Option<LineSection> {
    // Generated code is never yours: for lines of your code, not all lines of the recording are looked at.
    if source.ledger.files.get(&here.file).is_some_and(|it| it.is_user_code) {
        return None;
    }
    let mut parts = parts(source.ledger, here);
    if parts.is_empty() {
        return None;
    }
    parts.sort_by_key(|(line, time)| (Reverse(*time), line.clone()));
    let texts = parts.iter().map(|(line, time)| {
        line_name(source, line).and(format!(" ({})", duration(scale.mean(time.as_f64()))))
    });
    paragraph(RichText::words("Made from ").and_text(RichText::joined(texts, ", ")).and("."))
}

/// The lines that a generated line was made from, with the time of each in it.
fn parts(ledger: &Ledger, generated: &LineKey) -> Vec<(LineKey, Ns)> {
    let part = |(line, books): (&LineKey, &LineBooks)| {
        let time = shown(ledger, *books.generated.get(generated)?);
        (time != Ns::ZERO).then(|| (line.clone(), time))
    };
    ledger.lines_with_books().filter_map(part).collect()
}

fn names<'a>(
    source: &PlacedSource<'_>,
    lines: impl Iterator<Item = &'a LineKey> + Clone,
) -> RichText {
    let n_more = lines.clone().count().saturating_sub(MAX_SHOWN);
    let shown = RichText::joined(lines.take(MAX_SHOWN).map(|it| line_name(source, it)), ", ");
    if n_more == 0 { shown } else { shown.and(format!(" and {n_more} more")) }
}

/// `c4z76kcf….py:105`, to go there where the file is on this machine.
fn generated_name(ledger: &Ledger, line: &LineKey) -> RichText {
    let file = base_name(&line.file);
    let name = match (file.strip_suffix(".py"), file.char_indices().nth(NAME_LENGTH)) {
        (Some(stem), Some((end, _))) if end < stem.len() => format!("{}….py", &stem[..end]),
        _ => file.to_owned(),
    };
    let name = format!("{name}:{}", line.line);
    match ledger.files.get(&line.file).and_then(|it| it.path.as_ref()) {
        Some(path) => RichText::link(name, path, line.line),
        None => RichText::code(&name),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use ledger::SourceFile;

    use super::*;
    use crate::testing::{FILE, Fixture, TRAIN, TRAIN_BOOKS};
    use crate::{RunKnowledge, View, hover};

    const GENERATED: &str = "/tmp/t/4z/c4z76kcfplyj6oqxvqvx3n4ydi6cfdyxkd3zmm3kxv4jn3vt5qnq.py";

    /// Line 4 and 6 are fused in one kernel, line 6 alone is in another.
    fn fixture() -> Fixture {
        let mut fixture = Fixture::new(TRAIN, TRAIN_BOOKS);
        let generated = |line| LineKey { file: GENERATED.to_owned(), line };
        let time = |ms: i64| HostDeviceTime { cpu: Ns(ms * 1_000_000), cuda: Ns::ZERO };
        for (line, parts) in [(4, vec![(105, 2)]), (6, vec![(105, 2), (131, 6), (140, 0)])] {
            let key = LineKey { file: FILE.to_owned(), line };
            let books = fixture.ledger.lines.get_mut(&key).unwrap();
            books.generated =
                parts.into_iter().map(|(line, ms)| (generated(line), time(ms))).collect();
        }
        let books = LineBooks { cpu_self: Ns(1), cpu_total: Ns(1), ..LineBooks::default() };
        fixture.ledger.lines.insert(generated(105), Box::new(books));
        fixture
    }

    fn said(source: &PlacedSource<'_>, line: u32) -> String {
        let shown = hover(source, &View::default(), RunKnowledge::default(), line);
        let text = shown.map_or_else(String::new, |it| it.text.markdown());
        let is_of_compiler = |it: &&str| it.starts_with("Compiled") || it.starts_with("Made");
        text.lines().find(is_of_compiler).unwrap_or_default().to_owned()
    }

    #[test]
    fn a_line_names_what_was_made_of_it_and_with_which_lines() {
        let mut fixture = fixture();
        let of = |fixture: &Fixture, line| said(&fixture.source(), line);
        assert_eq!(
            of(&fixture, 4),
            "Compiled into `c4z76kcf….py:105` (1 ms of 2 ms, fused with line 6)."
        );
        assert_eq!(
            of(&fixture, 6),
            "Compiled into `c4z76kcf….py:131` (3 ms), `c4z76kcf….py:105` (1 ms of 2 ms, fused with line 4)."
        );
        assert_eq!(of(&fixture, 5), "");
        let path = Some(PathBuf::from("/tmp/a b/c.py"));
        let file = SourceFile { path, ..SourceFile::default() };
        fixture.ledger.files.insert(GENERATED.to_owned(), file);
        let link = "[`c4z76kcf….py:105`](file:///tmp/a%20b/c.py#L105)";
        assert!(of(&fixture, 4).contains(link), "{}", of(&fixture, 4));
    }

    #[test]
    fn a_generated_line_names_what_it_was_made_from() {
        let fixture = fixture();
        let text = "\n".repeat(104) + "kernel(buf0)\n";
        let of_text = Fixture::new(&text, "");
        let source = PlacedSource { ledger: &fixture.ledger, key: GENERATED, ..of_text.source() };
        let made = said(&source, 105);
        assert_eq!(made, "Made from `train.py:4` (1 ms), `train.py:6` (1 ms).");
    }
}
