//! How hot each line is, for colours beside the text.

use std::ops::RangeInclusive;

use ledger::Evidence;
use metrics::Quantity;

use crate::hints;
use crate::lenses::Totals;
use crate::place::{Placed, PlacedSource};
use crate::scale::ViewScale;
use crate::view::{UnknownName, View, ViewMetric};

/// The share that is cold: 0.2 %. From there to the whole, each doubling is as much hotter as the one before, because
/// that is how readers compare costs.
const COLD: f64 = 0.002;

/// What the heat of a line is relative to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scope {
    /// The step or the recording, by the view; bytes, for bytes.
    #[default]
    Step,
    /// All lines of the file.
    File,
    /// The lines that are asked for.
    Range,
    /// The innermost function around the first line that is asked for. Its lines are then all that is reported.
    Function,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Step, Self::File, Self::Range, Self::Function];

    /// Stable name, as in commands.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::File => "file",
            Self::Range => "range",
            Self::Function => "function",
        }
    }

    /// The scope of a name.
    ///
    /// # Errors
    /// If the name is none; the message lists those that are.
    pub fn parse(name: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.into_iter().find(|scope| scope.name() == name);
        found.ok_or_else(|| UnknownName::new("scope", name, Self::ALL.map(Self::name)))
    }
}

/// The hot lines of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Heat {
    /// What shares are shares of: nanoseconds or bytes.
    pub total: f64,
    /// In line order: those whose share reaches the threshold of the view.
    pub lines: Vec<HeatLine>,
}

/// A line that costs something.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatLine {
    /// 1-based line.
    pub line: u32,
    /// What it is hot by: the metric of the view, or what its hint says more of.
    pub quantity: Quantity,
    /// Nanoseconds or bytes of that.
    pub value: f64,
    /// `value` as text, with the name of the quantity where it is another one than the metric: `9.9 ms gpu idle`.
    pub text: String,
    /// The share (of 1) of the scope.
    pub share: f64,
    /// From 0 to 1, perceptually even.
    pub heat: f64,
    /// How the line is known.
    pub evidence: Evidence,
    /// Whether the line was changed since.
    pub is_stale: bool,
    /// The function that it is in.
    pub function: String,
}

/// The heat of `lines`, each by the largest number of its hint: a line that leaves the device idle is hot though it launches nothing.
///
/// Of lines that are charged with their own, the whole of a scope is their sum. What lines are charged with in total
/// overlaps: the whole is then that of the function, else of the line with most.
#[must_use]
pub fn heat(
    source: &PlacedSource<'_>,
    view: &View,
    lines: &RangeInclusive<u32>,
    scope: Scope,
) -> Heat {
    let scale = ViewScale::new(source.ledger, view);
    let placed = source.placed();
    let function = source.module.enclosing(*lines.start()).filter(|_| scope == Scope::Function);
    let is_in = |it: &Placed<'_>| match function {
        Some(function) => source.module.enclosing(it.line) == Some(function),
        None => lines.contains(&it.line),
    };
    let primary = scale.primary();
    let number = |it: &Placed<'_>| {
        hints::largest(&scale, &view.format, &it.books).filter(|&(_, value)| 0.0 < value)
    };
    let value = |it: &Placed<'_>| number(it).map(|(_, value)| value);
    let of_scope = placed.iter().filter(|it| scope == Scope::File || is_in(it)).filter_map(value);
    let overlaps = scale.overlaps();
    let total = match (scope, function) {
        (Scope::Step, _) => scale.whole(primary),
        (_, Some(function)) if overlaps => {
            let lines = function.first_line..=function.last_line;
            let totals = Totals::of(&scale, source, &placed, &lines, &function.name);
            if scale.metric == ViewMetric::Cpu { totals.elapsed } else { totals.cuda }
        }
        _ if overlaps => of_scope.fold(0.0, f64::max),
        _ => of_scope.sum(),
    };
    let lines = placed.iter().filter(|it| is_in(it)).filter_map(|placed| {
        let (quantity, value) = number(placed)?;
        let share = if 0.0 < total { (value / total).min(1.0) } else { 0.0 };
        (view.threshold <= share).then(|| HeatLine {
            line: placed.line,
            quantity,
            value,
            text: match quantity == primary {
                true => quantity.text(value),
                false => format!("{} {}", quantity.text(value), quantity.heading()),
            },
            share,
            heat: of_share(share),
            evidence: placed.books.evidence,
            is_stale: placed.is_stale,
            function: placed.books.function.clone(),
        })
    });
    Heat { total, lines: lines.collect() }
}

/// The heat of a share of 1.
pub(crate) fn of_share(share: f64) -> f64 {
    (1.0 - share.ln() / COLD.ln()).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HintFormat;
    use crate::testing::{Fixture, TRAIN, TRAIN_BOOKS};
    use crate::view::Charge;

    fn shown(view: &View, lines: RangeInclusive<u32>, scope: Scope) -> Vec<String> {
        let fixture = Fixture::new(TRAIN, TRAIN_BOOKS);
        let heat = heat(&fixture.source(), view, &lines, scope);
        let lines = heat
            .lines
            .iter()
            .map(|it| format!("{} {} {:.1} % {:.2}", it.line, it.text, it.share * 100.0, it.heat));
        lines.chain([format!("of {:.2} ms", heat.total / 1e6)]).collect()
    }

    #[test]
    fn scopes() {
        let view = View::default();
        assert_eq!(
            shown(&view, 1..=11, Scope::Step),
            [
                "2 1 ms 2.4 % 0.40",
                "4 11 ms backward 26.8 % 0.79",
                "5 4.8 ms gpu wait 11.7 % 0.65",
                "6 1.5 ms 3.7 % 0.47",
                "11 11 ms 26.8 % 0.79",
                "of 41.00 ms"
            ]
        );
        assert_eq!(
            shown(&view, 1..=6, Scope::File),
            [
                "2 1 ms 2.6 % 0.41",
                "4 11 ms backward 28.1 % 0.80",
                "5 4.8 ms gpu wait 12.2 % 0.66",
                "6 1.5 ms 3.8 % 0.47",
                "of 39.20 ms"
            ]
        );
        assert_eq!(
            shown(&view, 4..=6, Scope::Range),
            [
                "4 11 ms backward 63.6 % 0.93",
                "5 4.8 ms gpu wait 27.7 % 0.79",
                "6 1.5 ms 8.7 % 0.61",
                "of 17.30 ms"
            ]
        );
        assert_eq!(
            shown(&view, 11..=11, Scope::Function),
            ["11 11 ms 52.6 % 0.90", "12 9.9 ms gpu idle 47.4 % 0.88", "of 20.90 ms"]
        );
        // As its hint, which says the metric alone.
        let format = HintFormat::parse("{cuda}").unwrap();
        let template = View { format, ..View::default() };
        assert_eq!(shown(&template, 4..=5, Scope::Step)[0], "4 6.3 ms 15.4 % 0.70");
        assert_eq!(shown(&template, 4..=5, Scope::Step).len(), 2, "line 5 waits");
    }

    #[test]
    fn a_line_with_a_hint_is_hot() {
        let fixture = Fixture::new(TRAIN, TRAIN_BOOKS);
        for metric in ViewMetric::ALL {
            let view = View { metric: Some(metric), ..View::default() };
            let heat = heat(&fixture.source(), &view, &(1..=99), Scope::Step);
            let hot: Vec<u32> = heat.lines.iter().map(|it| it.line).collect();
            let hints = hints::hints(&fixture.source(), &view, 1..=99);
            // `↳`: nothing of its own.
            let own = hints.iter().filter(|it| !it.label.starts_with('↳'));
            assert_eq!(hot, own.map(|it| it.line).collect::<Vec<_>>(), "{metric:?}");
        }
    }

    #[test]
    fn totals_overlap() {
        let view = View { metric: Some(ViewMetric::Cpu), charge: Charge::Total, ..View::default() };
        assert_eq!(
            shown(&view, 10..=10, Scope::Function),
            ["10 8 ms 26.7 % 0.79", "11 12 ms 40.0 % 0.85", "12 10 ms 33.3 % 0.82", "of 30.00 ms"]
        );
        assert_eq!(
            shown(&view, 1..=6, Scope::File),
            ["4 2 ms 16.7 % 0.71", "5 5 ms 41.7 % 0.86", "6 500 µs 4.2 % 0.49", "of 12.00 ms"]
        );
    }

    #[test]
    fn doublings_are_even() {
        let steps: Vec<f64> =
            [0.01, 0.02, 0.04].windows(2).map(|it| of_share(it[1]) - of_share(it[0])).collect();
        assert!((steps[0] - steps[1]).abs() < 1e-9, "{steps:?}");
        assert_eq!((of_share(1.0), of_share(COLD / 2.0), of_share(0.0)), (1.0, 0.0, 0.0));
    }

    #[test]
    fn scopes_are_known_again() {
        for scope in Scope::ALL {
            assert_eq!(Scope::parse(scope.name()), Ok(scope));
        }
        let error = Scope::parse("all").map_err(|error| error.to_string());
        let expected = "unknown scope `all`, expected one of: step, file, range, function";
        assert_eq!(error, Err(expected.to_owned()));
    }
}
