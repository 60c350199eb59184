//! Where the lines of a graph are in the text that ran. A graph that the compiler took from its cache names lines as they were numbered
//! when it was compiled; lines may have been added or removed since.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

/// What it costs if lines are moved by another number than those before them.
const MOVED: u32 = 2;

/// What it costs if a line is not found. It is less than to move it alone: the same text elsewhere is another line.
const NOT_FOUND: u32 = 3;

/// Ways to place the lines that are followed at once, and places of one line that are tried.
const MAX_WAYS: usize = 64;

/// By number when the graph was compiled, the number in `text` of each line whose text is known; `None` where it is not there, or may
/// be at several places.
///
/// The order of lines is kept, and as few runs of lines as possible are moved by another number than the lines before them. What the
/// first and the last of the best ways say alike is certain.
pub(crate) fn lines_in_text(
    compiled: &BTreeMap<u32, &str>,
    text: &str,
) -> BTreeMap<u32, Option<u32>> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_there = |line: u32, said: &str| {
        line.checked_sub(1).and_then(|it| lines.get(it as usize)).is_some_and(|it| *it == said)
    };
    if compiled.iter().all(|(&line, &said)| is_there(line, said)) {
        return compiled.keys().map(|&line| (line, Some(line))).collect();
    }
    let mut places: FxHashMap<&str, Vec<u32>> = FxHashMap::default();
    for (number, &line) in (1..).zip(&lines) {
        places.entry(line).or_default().push(number);
    }
    let first = best_way(compiled, &places, false);
    let last = best_way(compiled, &places, true);
    let place = |line: &u32| {
        let place = first.get(line)?;
        (last.get(line) == Some(place)).then_some(*place)
    };
    compiled.keys().map(|line| (*line, place(line))).collect()
}

/// Lines that were placed, as the last of them says.
#[derive(Debug, Clone, Copy)]
struct Way {
    cost: u32,
    /// By how many lines the last one is moved.
    moved_by: i64,
    /// Where it is; 0 before the first.
    place: u32,
    /// It and those before it: a row of the table of steps.
    last: Option<usize>,
}

/// Where the lines are in the cheapest way, of several the first or the last.
fn best_way(
    compiled: &BTreeMap<u32, &str>,
    places: &FxHashMap<&str, Vec<u32>>,
    is_last: bool,
) -> BTreeMap<u32, u32> {
    // Each: a line, its place, and the step before it.
    let mut steps: Vec<(u32, u32, Option<usize>)> = Vec::new();
    let mut ways = vec![Way { cost: 0, moved_by: 0, place: 0, last: None }];
    let order = |it: &Way| (it.cost, if is_last { u32::MAX - it.place } else { it.place });
    for (&line, &said) in compiled {
        let mut next: Vec<Way> = Vec::with_capacity(ways.len());
        for &place in nearest(places.get(said).map_or(&[], Vec::as_slice), line) {
            let moved_by = i64::from(place) - i64::from(line);
            let ways = ways.iter().filter(|it| it.place < place);
            let cost = |it: &Way| it.cost + if it.moved_by == moved_by { 0 } else { MOVED };
            let Some(before) = ways.min_by_key(|it| (cost(it), order(it))) else { continue };
            steps.push((line, place, before.last));
            let last = Some(steps.len() - 1);
            next.push(Way { cost: cost(before), moved_by, place, last });
        }
        next.extend(ways.iter().map(|it| Way { cost: it.cost + NOT_FOUND, ..*it }));
        next.sort_by_key(order);
        next.truncate(MAX_WAYS);
        ways = next;
    }
    let best = ways.into_iter().min_by_key(order);
    let before = |&at: &usize| steps.get(at).and_then(|it| it.2);
    let taken = std::iter::successors(best.and_then(|it| it.last), before);
    taken.filter_map(|at| steps.get(at)).map(|&(line, place, _)| (line, place)).collect()
}

/// Those of `places`, which ascend, that are nearest to `line`.
fn nearest(places: &[u32], line: u32) -> &[u32] {
    let at = places.partition_point(|&it| it < line);
    let begin = at.saturating_sub(MAX_WAYS / 2).min(places.len().saturating_sub(MAX_WAYS));
    &places[begin..places.len().min(begin + MAX_WAYS)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the lines of `before` that begin with `!` are in `after`.
    fn places(before: &str, after: &str) -> Vec<(u32, Option<u32>)> {
        let lines = (1..).zip(before.lines());
        let compiled = lines.filter_map(|(at, it)| Some((at, it.strip_prefix('!')?.trim())));
        lines_in_text(&compiled.collect(), after).into_iter().collect()
    }

    const MODEL: &str = "class A:\n def f(x):\n! x = up(x)\n! return x\n\nclass B:\n def f(x):\n! x = up(x)\n! x = down(x)\n! return x\n";

    fn model() -> String {
        MODEL.replace('!', " ")
    }

    #[test]
    fn lines_that_did_not_move_stay() {
        let same = |it| (it, Some(it));
        assert_eq!(places(MODEL, &model()), [3, 4, 8, 9, 10].map(same));
    }

    #[test]
    fn lines_move_with_those_around_them() {
        let moved = |by: u32| [3, 4, 8, 9, 10].map(|it| (it, Some(it + by)));
        assert_eq!(places(MODEL, &format!("#\n#\n#\n{}", model())), moved(3));
        // By the distance at which the same texts are again.
        let between = model().replace("class B", "# 1\n# 2\n# 3\n# 4\n# 5\nclass B");
        let expected = [(3, Some(3)), (4, Some(4)), (8, Some(13)), (9, Some(14)), (10, Some(15))];
        assert_eq!(places(MODEL, &between), expected);
        let removed = model().replace("class A:\n", "");
        let expected = [(3, Some(2)), (4, Some(3)), (8, Some(7)), (9, Some(8)), (10, Some(9))];
        assert_eq!(places(MODEL, &removed), expected);
    }

    #[test]
    fn a_line_that_is_gone_has_no_place() {
        let renamed = model().replace("x = down(x)", "x = lower(x)");
        let expected = [(3, Some(3)), (4, Some(4)), (8, Some(8)), (9, None), (10, Some(10))];
        assert_eq!(places(MODEL, &renamed), expected);
        assert_eq!(places("! x\n", ""), [(1, None)]);
    }

    #[test]
    fn a_line_that_may_be_at_two_places_has_none() {
        assert_eq!(places("#\n! x\n#\n", "x\n#\nx\n"), [(2, None)]);
    }
}
