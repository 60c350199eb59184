//! One short hint at the end of a line.

use std::ops::RangeInclusive;

use ledger::{Evidence, LineBooks, LineKey};
use metrics::Quantity;
use metrics::numbers::{count, duration};
use ranks::Side;

use crate::by_rank::Uneven;
use crate::format::HintFormat;
use crate::hover::{self, HoverText};
use crate::place::{Placed, PlacedSource, among};
use crate::scale::ViewScale;
use crate::view::{Charge, View, ViewMetric};

/// Characters of a hint at most: VS Code cuts what is longer (`editor.inlayHints.maximumLength`).
const MAX_LENGTH: usize = 43;

/// Characters up to which a hint says more than what is largest: hints stand beside code, and hovers have the rest.
const SHORT: usize = 25;

/// A hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// 1-based line.
    pub line: u32,
    /// Byte offset of the end of that line.
    pub offset: usize,
    /// At most 43 characters.
    pub label: String,
}

/// The hints of `lines`, in line order, one for each line at most.
#[must_use]
pub fn hints(source: &PlacedSource<'_>, view: &View, lines: RangeInclusive<u32>) -> Vec<Hint> {
    let scale = ViewScale::new(source.ledger, view);
    let placed = source.placed();
    let hints = among(&placed, &lines).iter().filter_map(|placed| {
        let label = label(source, &scale, &view.format, placed)?;
        let offset = source.index.line_range(placed.line)?.end;
        Some(Hint { line: placed.line, offset, label })
    });
    hints.collect()
}

/// More about the hints of some lines, `None` for lines without numbers.
#[must_use]
pub fn tooltips(source: &PlacedSource<'_>, view: &View, lines: &[u32]) -> Vec<Option<HoverText>> {
    let scale = ViewScale::new(source.ledger, view);
    let placed = source.placed();
    let tooltip = |line: &u32| {
        let row = placed.binary_search_by_key(line, |it| it.line).ok()?;
        Some(hover::summary(source, &scale, &placed[row]))
    };
    lines.iter().map(tooltip).collect()
}

fn label(
    source: &PlacedSource<'_>,
    scale: &ViewScale<'_>,
    format: &HintFormat,
    placed: &Placed<'_>,
) -> Option<String> {
    let books = &*placed.books;
    let mark = match (placed.is_stale, books.evidence) {
        (true, _) => "≈",
        (false, Evidence::Inferred) => "~",
        (false, _) => "",
    };
    // A function's time must not be taken for that of its `def` line.
    let whose = if placed.is_function { "fn " } else { "" };
    let marks = mark.chars().count() + whose.chars().count();
    let text = match format {
        HintFormat::Auto => {
            let key = LineKey { file: source.key.to_owned(), line: placed.recorded };
            let line = HintedLine { scale, books, key };
            auto(&line, marks).or_else(|| below(&line))?
        }
        HintFormat::Template(template) => {
            scale.notable(scale.primary(), books)?;
            cut(&template.fill(scale, books)?, MAX_LENGTH - marks)
        }
    };
    Some(format!("{mark}{whose}{text}"))
}

/// What is notable, the largest first and whole, the others as far as there is room beside so many characters of marks.
fn auto(line: &HintedLine<'_>, marks: usize) -> Option<String> {
    let HintedLine { scale, books, .. } = *line;
    let room = MAX_LENGTH - marks;
    let mut pieces: Vec<Piece> = match scale.metric {
        // In terms of the device, a line costs what it launches, the waits it causes, and the idle time it leaves.
        ViewMetric::Cuda => [
            uneven(scale, books, Side::Device).or_else(|| time(line, scale.primary(), "gpu", room)),
            wait(line),
            plain(line, Quantity::Idle, "gpu idle"),
            plain(line, Quantity::Waiting, "waiting"),
        ]
        .into_iter()
        .flatten()
        .collect(),
        ViewMetric::Cpu => match uneven(scale, books, Side::Host) {
            // It holds the waiting.
            Some(piece) => vec![Some(piece)],
            None => vec![
                time(line, scale.primary(), "cpu", room),
                plain(line, Quantity::Waiting, "waiting"),
                wait(line),
            ],
        }
        .into_iter()
        .flatten()
        .collect(),
        ViewMetric::Backward => plain(line, scale.primary(), "bwd").into_iter().collect(),
        ViewMetric::Wait => {
            [wait(line), plain(line, Quantity::Waiting, "waiting")].into_iter().flatten().collect()
        }
        ViewMetric::Idle => plain(line, Quantity::Idle, "gpu idle").into_iter().collect(),
        ViewMetric::Communication => {
            let exposed = plain(line, Quantity::CommExposed, "of it exposed");
            let all = plain(line, Quantity::Comm, "comm").map(|all| match exposed {
                Some(exposed) => Piece { text: format!("{} · {}", all.text, exposed.text), ..all },
                None => all,
            });
            all.into_iter().collect()
        }
        ViewMetric::Memory => {
            let name = if scale.primary() == Quantity::Peak { "at peak" } else { "alloc" };
            plain(line, scale.primary(), name).into_iter().collect()
        }
    };
    if scale.overlaps() {
        // Own waits and idle time are a part of the total, if they are reported at all.
        pieces.truncate(1);
    }
    pieces.sort_by(|a, b| b.size.total_cmp(&a.size));
    let mut text = String::new();
    for piece in pieces {
        if text.is_empty() {
            text = piece.text;
            continue;
        }
        let longer = format!("{text} · {}", piece.text);
        if longer.chars().count() + marks <= SHORT {
            text = longer;
        }
    }
    (!text.is_empty()).then(|| cut(&text, room))
}

/// The largest number of what the hint of a line is made from, notable or not, and what it is of: what the line is hot by.
pub(crate) fn largest(
    scale: &ViewScale<'_>,
    format: &HintFormat,
    books: &LineBooks,
) -> Option<(Quantity, f64)> {
    let more: &[Quantity] = match (format, scale.metric) {
        (HintFormat::Template(_), _) => &[],
        (_, ViewMetric::Cuda) => {
            &[Quantity::CudaBackward, Quantity::Wait, Quantity::Idle, Quantity::Waiting]
        }
        (_, ViewMetric::Cpu) => &[Quantity::CpuBackward, Quantity::Waiting, Quantity::Wait],
        _ => &[],
    };
    let quantities = [scale.primary()].into_iter().chain(more.iter().copied());
    let mut numbers = quantities.filter_map(|it| Some((it, scale.value(it, books)?)));
    if scale.overlaps() {
        // The others are a part of the total, if they are reported at all.
        let mut of_hint = numbers.clone().filter(|&(it, value)| scale.is_notable(it, value));
        return of_hint.next().or_else(|| numbers.next());
    }
    numbers.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// `↳ 5.3 ms gpu`: what is below a line that has nothing to say of its own, so that the way to what costs can be followed. Not of
/// what is known of a function alone: that is below its lines.
fn below(line: &HintedLine<'_>) -> Option<String> {
    let (quantity, name) = match (line.scale.charge, line.scale.metric) {
        (Charge::Own, ViewMetric::Cuda) => (Quantity::CudaTotal, "gpu"),
        (Charge::Own, ViewMetric::Cpu) => (Quantity::CpuTotal, "cpu"),
        _ => return None,
    };
    let is_line = line.books.evidence != Evidence::Function;
    let piece = plain(line, quantity, name).filter(|_| is_line)?;
    Some(format!("↳ {}", piece.text))
}

/// A line that has a hint.
struct HintedLine<'a> {
    scale: &'a ViewScale<'a>,
    books: &'a LineBooks,
    key: LineKey,
}

impl HintedLine<'_> {
    /// A number with its name, and by how much it differs from the baseline: `6.3 ms gpu (−1.2)`.
    fn text(&self, quantity: Quantity, value: f64, name: &str) -> String {
        let text = quantity.text(value);
        let difference = self.scale.difference(&self.key, quantity, value);
        let behind = difference.map_or(String::new(), |it| it.behind(&text));
        format!("{text} {name}{behind}")
    }
}

struct Piece {
    /// What it costs, to be compared with the other pieces of the line.
    size: f64,
    text: String,
}

/// `29 ms · r1 only`: where one rank differs, a mean over the ranks is true of none.
fn uneven(scale: &ViewScale<'_>, books: &LineBooks, side: Side) -> Option<Piece> {
    if scale.overlaps() {
        return None;
    }
    let uneven = Uneven::of(scale, [books], side)?;
    let text = uneven.text(if side == Side::Device { " gpu" } else { "" });
    Some(Piece { size: uneven.time, text })
}

/// `6.3 ms gpu +11 ms bwd`; either part may be missing. Where some of it is computed again and there is room:
/// `6.3 ms gpu (3 ms again) +11 ms bwd`.
fn time(line: &HintedLine<'_>, forward: Quantity, name: &str, room: usize) -> Option<Piece> {
    let HintedLine { scale, books, .. } = *line;
    let on_device = matches!(forward, Quantity::CudaOwn | Quantity::CudaTotal);
    let backward = if on_device { Quantity::CudaBackward } else { Quantity::CpuBackward };
    let recompute = match scale.charge {
        Charge::Own if on_device => Some(Quantity::CudaRecompute),
        Charge::Own => Some(Quantity::CpuRecompute),
        // How much of what is below the line is computed again is not kept.
        Charge::Total => None,
    };
    let ahead = scale.notable(forward, books);
    let back = scale.notable(backward, books);
    let again = recompute.filter(|_| ahead.is_some()).and_then(|it| scale.notable(it, books));
    let again = again.map(|it| format!(" ({} again)", duration(it)));
    let ahead_text = ahead.map(|it| line.text(forward, it, name));
    let back_text = back.map(|it| format!("+{} bwd", duration(it)));
    let text = |again: &str| {
        let ahead = ahead_text.as_ref().map(|it| format!("{it}{again}"));
        ahead.into_iter().chain(back_text.clone()).collect::<Vec<_>>().join(" ")
    };
    let long = again.map(|it| text(&it)).filter(|it| it.chars().count() <= room);
    let text = long.unwrap_or_else(|| text(""));
    let size = ahead.unwrap_or(0.0) + back.unwrap_or(0.0);
    (!text.is_empty()).then_some(Piece { size, text })
}

/// `4.8 ms wait ×10`.
fn wait(line: &HintedLine<'_>) -> Option<Piece> {
    let HintedLine { scale, books, .. } = *line;
    let size = scale.notable(Quantity::Wait, books)?;
    let times = scale.value(Quantity::Waits, books).map(|it| format!(" ×{}", count(it)));
    let name = format!("wait{}", times.unwrap_or_default());
    Some(Piece { size, text: line.text(Quantity::Wait, size, &name) })
}

fn plain(line: &HintedLine<'_>, quantity: Quantity, name: &str) -> Option<Piece> {
    let size = line.scale.notable(quantity, line.books)?;
    Some(Piece { size, text: line.text(quantity, size, name) })
}

fn cut(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Fixture, TRAIN, TRAIN_BOOKS, check_text};
    use metrics::Period;

    /// The source with its hints after `#`.
    fn drawn(fixture: &Fixture, view: &View) -> String {
        let hints = hints(&fixture.source(), view, 1..=u32::MAX);
        let mut text = String::new();
        for (line, source) in (1..).zip(fixture.text.lines()) {
            let of_line: Vec<_> = hints.iter().filter(|hint| hint.line == line).collect();
            assert!(of_line.len() <= 1, "one hint for each line");
            text += source;
            for hint in of_line {
                assert!(hint.label.chars().count() <= MAX_LENGTH, "{}", hint.label);
                assert_eq!(&fixture.text[hint.offset..][..1], "\n", "at the end of the line");
                text += &format!(" # {}", hint.label);
            }
            text += "\n";
        }
        text
    }

    fn view(metric: ViewMetric) -> View {
        View { metric: Some(metric), ..View::default() }
    }

    #[test]
    fn in_terms_of_the_device() {
        let fixture = Fixture::new(TRAIN, TRAIN_BOOKS);
        check_text(
            &drawn(&fixture, &View::default()),
            "
            class SlowModel(nn.Module):
                def forward(self, x): # fn 1 ms gpu
                    for layer in self.layers:
                        x = torch.relu(layer(x)) # 6.3 ms gpu +11 ms bwd
                        if x.max().item() > 100: # 4.8 ms wait ×10
                            x = x / 100 # ~1.5 ms gpu
                    return x

            def step(model, x):
                loss = model(x).sum() # ↳ 8.8 ms gpu
                loss.backward() # 11 ms gpu
                opt.step() # 9.9 ms gpu idle
            ",
        );
    }

    #[test]
    fn other_metrics() {
        let fixture = Fixture::new(TRAIN, TRAIN_BOOKS);
        let hints_of = |view: &View| -> Vec<String> {
            let hints = hints(&fixture.source(), view, 1..=u32::MAX);
            hints.into_iter().map(|hint| format!("{} {}", hint.line, hint.label)).collect()
        };
        assert_eq!(
            hints_of(&view(ViewMetric::Cpu)),
            [
                "4 2 ms cpu +3 ms bwd",
                "5 5 ms cpu",
                "6 ~0.5 ms cpu",
                "10 ↳ 8 ms cpu",
                "11 12 ms cpu",
                "12 10 ms cpu"
            ]
            .map(|it| it.replace("0.5 ms", "500 µs"))
        );
        assert_eq!(hints_of(&view(ViewMetric::Backward)), ["4 11 ms bwd"]);
        assert_eq!(hints_of(&view(ViewMetric::Wait)), ["5 4.8 ms wait ×10"]);
        assert_eq!(hints_of(&view(ViewMetric::Idle)), ["12 9.9 ms gpu idle"]);
        assert_eq!(hints_of(&view(ViewMetric::Memory)), ["4 24 MiB alloc", "6 ~8 MiB alloc"]);
        let total = View { charge: Charge::Total, ..view(ViewMetric::Cpu) };
        assert_eq!(hints_of(&total)[3], "10 8 ms cpu");
        assert_eq!(hints_of(&total)[1], "5 5 ms cpu", "what is waited is a part of it");
        let waits = View { charge: Charge::Total, ..view(ViewMetric::Wait) };
        assert_eq!(hints_of(&waits), hints_of(&view(ViewMetric::Wait)), "waits have no total");
        let step = View { period: Period::Step(2), ..View::default() };
        assert_eq!(hints_of(&step)[1], "4 6.3 ms gpu", "backward time is not kept by step");
        let run = View { period: Period::Run, ..View::default() };
        assert_eq!(hints_of(&run)[1], "4 12.6 ms gpu +22 ms bwd");
        let high = View { threshold: 0.2, ..View::default() };
        assert_eq!(
            hints_of(&high),
            ["4 +11 ms bwd", "10 ↳ 8.8 ms gpu", "11 11 ms gpu", "12 9.9 ms gpu idle"]
        );
        let again = "step 1 41ms\n1 cuda=6ms cuda_again=3ms cuda_backward=11ms\n";
        let again = Fixture::new("x = block(x)\n", again);
        let label = |view: &View| hints(&again.source(), view, 1..=u32::MAX)[0].label.clone();
        assert_eq!(label(&View::default()), "6 ms gpu (3 ms again) +11 ms bwd");
        let total = View { charge: Charge::Total, ..view(ViewMetric::Backward) };
        assert_eq!(label(&total), "11 ms bwd");
        let ranks = Fixture::new("all_reduce(x)\n", "step 1 10ms\n1 comm=1ms exposed=0.4ms\n");
        let comm = hints(&ranks.source(), &view(ViewMetric::Communication), 1..=u32::MAX);
        assert_eq!(comm[0].label, "1 ms comm · 400 µs of it exposed");
        let format = HintFormat::parse("{share}[ +{backward}]").unwrap();
        assert_eq!(hints_of(&View { format, ..View::default() })[1], "4 15.4 % +11 ms");
        let format =
            HintFormat::parse("{cuda} of device time in kernels launched from here").unwrap();
        let long = hints_of(&View { format, ..View::default() });
        assert_eq!(long[1], "4 6.3 ms of device time in kernels launched …");
    }

    #[test]
    fn edits_carry_hints_and_mark_them() {
        let mut fixture = Fixture::new(TRAIN, TRAIN_BOOKS);
        fixture.edit("class SlowModel", "import torch\n\nclass SlowModel");
        fixture.edit("torch.relu(layer(x))", "torch.tanh(layer(x))");
        fixture.edit("            if x.max().item() > 100:\n                x = x / 100\n", "");
        check_text(
            &drawn(&fixture, &View::default()),
            "
            import torch

            class SlowModel(nn.Module):
                def forward(self, x): # fn 1 ms gpu
                    for layer in self.layers:
                        x = torch.tanh(layer(x)) # ≈6.3 ms gpu +11 ms bwd
                    return x

            def step(model, x):
                loss = model(x).sum() # ↳ 8.8 ms gpu
                loss.backward() # 11 ms gpu
                opt.step() # 9.9 ms gpu idle
            ",
        );
    }

    #[test]
    fn a_file_that_nobody_knows_the_edits_of_has_numbers_on_its_functions() {
        let mut fixture = Fixture::new(&TRAIN.replace("def step(", "\n\ndef step("), TRAIN_BOOKS);
        fixture.map = None;
        check_text(
            &drawn(&fixture, &View::default()),
            "
            class SlowModel(nn.Module):
                def forward(self, x): # ≈fn 8.82 ms gpu +11 ms bwd
                    for layer in self.layers:
                        x = torch.relu(layer(x))
                        if x.max().item() > 100:
                            x = x / 100
                    return x



            def step(model, x): # ≈fn 12.2 ms gpu
                loss = model(x).sum()
                loss.backward()
                opt.step()
            ",
        );
    }

    #[test]
    fn waiting_is_apart_from_cpu_time() {
        let fixture = Fixture::new(
            "time.sleep(1)\nq.get()\n",
            "step 1 10ms\n1 cpu=5ms waiting=5ms\n2 cpu=4ms waiting=1ms wait=2ms waits=1\n",
        );
        let of = |metric| {
            let view = view(metric);
            let hints = hints(&fixture.source(), &view, 1..=u32::MAX);
            hints.into_iter().map(|hint| hint.label).collect::<Vec<_>>()
        };
        assert_eq!(of(ViewMetric::Cpu), ["5 ms waiting", "3 ms cpu · 2 ms wait ×1"]);
        assert_eq!(of(ViewMetric::Wait), ["5 ms waiting", "2 ms wait ×1"]);
    }

    #[test]
    fn only_the_lines_that_are_asked_for() {
        let fixture = Fixture::new(TRAIN, TRAIN_BOOKS);
        let lines: Vec<u32> = hints(&fixture.source(), &View::default(), 4..=5)
            .iter()
            .map(|hint| hint.line)
            .collect();
        assert_eq!(lines, [4, 5]);
    }

    #[test]
    fn a_decorated_function_has_its_hint_on_the_def() {
        let fixture = Fixture::new(
            "@torch.no_grad()\ndef f(x):\n    return x + 1\n",
            "step 1 10ms\n1 function fn=f cuda=1ms\n",
        );
        let expected = "@torch.no_grad()\ndef f(x): # fn 1 ms gpu\n    return x + 1\n";
        assert_eq!(drawn(&fixture, &View::default()), expected);
    }
}
