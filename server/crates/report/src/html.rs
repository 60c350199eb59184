//! The report as one page: plots, findings with what to do, every table, memory over time, ranks by step, the timeline, the flame graph
//! and the roofline. It needs no other file, and the policy of the page allows no script but that of these five.
//!
//! Text is escaped by its type: what is spliced into the markup is `ShownText`, which also replaces what reorders or hides
//! the text around it. Only pictures, the style sheets and the script go in as they are.

mod bars;
mod heat;
mod memory_plot;
mod plot_error;
mod shown_text;
mod sources;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

use insights::{RuleOptions, Severity};
use loader::{EventTimeline, MemoryHistory, Run, StackBooks};

use crate::build::{ReportOptions, build_shown};
use crate::diff::{DiffReport, name};
use crate::filter::CodeFilter;
use crate::flame::{self, FlameBase, FlameStacks};
use crate::memory_timeline::{MemoryTimelineRange, memory_timeline};
use crate::model::{Align, Cell, CellValue, Chart, Report, ReportedFinding, Section, Subject};
use crate::part::RecordingPart;
use crate::rank_steps::{MapSize, rank_steps};
use crate::recording::Recording;
use crate::roofline::{RooflineSize, roofline};
use crate::timeline::{TimelineRange, timeline};

use shown_text::ShownText;

pub use memory_plot::draw as memory_plot;
pub use plot_error::PlotError;

/// Findings that are listed; the costliest come first.
const MAX_FINDINGS: usize = 30;

/// Lines in each table of a page that a server gives.
const SERVED_TOP: usize = 25;

const STYLE: &str = include_str!("html/style.css");

/// The pictures that a script draws, built from `editors/vscode/webview/flame` by `npm run flame` there.
const FLAME_SCRIPT: &str = include_str!("html/flame/flame.js");
const FLAME_STYLE: &str = include_str!("html/flame/flame.css");
/// Its hash, by which the policy of a page allows the script.
const FLAME_HASH: &str = include_str!("html/flame/flame.js.sha256");

/// The pictures of a page that a script draws, from their data.
#[derive(Debug, Clone, Default)]
pub struct Pictures {
    /// [`crate::flame::flame`].
    pub flame: Option<Value>,
    /// [`crate::timeline::timeline`].
    pub timeline: Option<Value>,
    /// [`crate::memory_timeline::memory_timeline`]. It takes the place of the plot of memory in use.
    pub memory: Option<Value>,
    /// [`crate::rank_steps::rank_steps`]. It takes the place of the tables of ranks and steps.
    pub ranks: Option<Value>,
    /// [`crate::roofline::roofline`].
    pub roofline: Option<Value>,
    /// Of a page that a server gives: the number of what it shows. Its lines open in an editor, its pictures ask for more,
    /// and it is loaded again when something else is shown.
    pub served: Option<u64>,
}

/// How much pictures have of what they are drawn from.
struct PictureSizes {
    min_share: f64,
    times: TimelineRange,
    moments: MemoryTimelineRange,
    map: MapSize,
    points: RooflineSize,
}

impl PictureSizes {
    /// Of a page that is sent around.
    const PAGE: Self = Self {
        min_share: flame::PAGE_MIN_SHARE,
        times: TimelineRange::PAGE,
        moments: MemoryTimelineRange::PAGE,
        map: MapSize::PAGE,
        points: RooflineSize::PAGE,
    };
    /// Of a page that a server gives, whose pictures ask for more.
    const SERVED: Self = Self {
        min_share: flame::EDITOR_MIN_SHARE,
        times: TimelineRange::EDITOR,
        moments: MemoryTimelineRange::EDITOR,
        map: MapSize::EDITOR,
        points: RooflineSize::EDITOR,
    };
}

/// What pictures are drawn from, as far as a recording was loaded with it.
#[derive(Clone, Copy)]
pub struct PictureData<'a> {
    /// Amounts by whole stacks.
    pub stacks: Option<&'a StackBooks>,
    /// What happened when.
    pub timeline: Option<&'a EventTimeline>,
    /// What devices held when.
    pub histories: &'a [MemoryHistory],
    /// Which lines are shown.
    pub code: &'a CodeFilter,
    /// The part of the recording that is in its place.
    pub part: Option<&'a RecordingPart>,
    /// What all of the recording is compared with.
    pub base: Option<FlameBase<'a>>,
}

impl<'a> PictureData<'a> {
    /// What a run has of it.
    #[must_use]
    pub fn of_run(run: &'a Run, code: &'a CodeFilter, part: Option<&'a RecordingPart>) -> Self {
        Self {
            stacks: run.stacks.as_ref(),
            timeline: run.timeline.as_ref(),
            histories: &run.histories,
            code,
            part,
            base: None,
        }
    }
}

impl Pictures {
    /// The pictures of a file, which is sent around.
    #[must_use]
    pub fn of_file(recording: &Recording<'_>, title: &str, data: &PictureData<'_>) -> Self {
        Self::drawn(recording, title, data, &PictureSizes::PAGE)
    }

    fn drawn(
        recording: &Recording<'_>,
        title: &str,
        data: &PictureData<'_>,
        sizes: &PictureSizes,
    ) -> Self {
        let PictureSizes { min_share, times, moments, map, points } = sizes;
        let stacks = data.stacks.map(|it| FlameStacks::new(recording, it, data.code, data.part));
        Self {
            flame: stacks.map(|it| flame::flame(recording, &it, data.base, title, *min_share)),
            timeline: data.timeline.and_then(|it| timeline(recording, it, title, times)),
            memory: memory_timeline(recording, data.histories, title, moments),
            ranks: rank_steps(recording, title, *map),
            roofline: roofline(recording, title, *points),
            served: None,
        }
    }

    /// The flame graph of the page of a comparison, where the stacks of both runs are known.
    #[must_use]
    pub fn of_comparison([base, new]: [&Recording<'_>; 2], found: &DiffReport<'_>) -> Self {
        let books = base.run.stacks.as_ref().zip(new.run.stacks.as_ref());
        let flame = books.map(|(of_base, of_new)| {
            let base = FlameBase {
                recording: base,
                title: &name(base),
                books: of_base,
                difference: &found.difference,
            };
            let stacks = FlameStacks::new(new, of_new, CodeFilter::ALL, None);
            flame::flame(new, &stacks, Some(base), &name(new), flame::PAGE_MIN_SHARE)
        });
        Self { flame, ..Self::default() }
    }

    /// Whether the page has a script.
    fn has_script(&self) -> bool {
        self.served.is_some()
            || self.flame.is_some()
            || self.timeline.is_some()
            || self.memory.is_some()
            || self.ranks.is_some()
            || self.roofline.is_some()
    }
}

/// The page that a server gives: the report as `rules` say of what `data` is of, with pictures that it gives more of. `version` is
/// the number of what it shows.
///
/// # Errors
/// If a plot cannot be laid out.
pub fn served_page(
    recording: &Recording<'_>,
    rules: RuleOptions,
    data: &PictureData<'_>,
    version: u64,
) -> Result<String, PlotError> {
    let options =
        ReportOptions { code: data.code.clone(), ..ReportOptions::new(SERVED_TOP, rules) };
    let report = build_shown(recording, &options, data.part);
    let drawn = Pictures::drawn(recording, &recording.title(), data, &PictureSizes::SERVED);
    page(&report, &Pictures { served: Some(version), ..drawn })
}

/// The page, with the pictures whose data are given.
///
/// # Errors
/// If a plot cannot be laid out.
pub fn page(report: &Report<'_>, pictures: &Pictures) -> Result<String, PlotError> {
    let title = report.summary.title();
    let mut bars = Vec::new();
    let mut ranks = Vec::new();
    let mut memory = Vec::new();
    let mut side_by_side = Vec::new();
    for chart in &report.charts {
        match chart {
            Chart::Bars(rows) => bars.push(PreEscaped(bars::draw(rows)?)),
            Chart::Ranks(map) => ranks.push(heat::draw(map)),
            Chart::Memory(ledger) => memory.push(PreEscaped(memory_plot::draw(ledger)?)),
            Chart::Sources(pairs) => side_by_side.extend(pairs.iter().map(sources::draw)),
        }
    }
    // Which rank is late decides on whose lines to look; what to change stands before what it is made of.
    let (by_rank, sections): (Vec<&Section>, Vec<&Section>) =
        report.sections.iter().partition(|it| it.id == "ranks");
    let (lines, others): (Vec<&Section>, Vec<&Section>) =
        sections.into_iter().partition(|it| it.subject == Subject::Lines);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(policy(pictures));
                title { (ShownText(&title)) }
                style { (PreEscaped(STYLE)) }
                @if pictures.has_script() { style { (PreEscaped(FLAME_STYLE)) } }
            }
            body data-served=[pictures.served] {
                h1 { (ShownText(&title)) }
                @for note in &report.summary.notes {
                    p.about { (ShownText(&note.marked())) }
                }
                @if let Some(verdict) = &report.verdict {
                    p.verdict { (ShownText(&verdict.text)) }
                }
                (figures(report))
                (findings(&report.findings))
                @if pictures.served.is_some() { (folded(pictures, memory.is_empty())) }
                @for plot in &bars {
                    h2 { "Time" }
                    figure { (plot) }
                }
                @for section in by_rank {
                    (table(section))
                }
                @for map in &ranks {
                    h2 { "Ranks by step" }
                    @if let Some(data) = &pictures.ranks {
                        div.ranks {}
                        noscript { (map) }
                        (picture_data("ranks", data))
                    } @else { (map) }
                }
                @for section in lines {
                    (table(section))
                }
                @if !side_by_side.is_empty() { h2 { "Sources side by side" } }
                @for pair in &side_by_side { (pair) }
                @if let (Some(data), false) = (&pictures.memory, memory.is_empty()) {
                    h2 { "Memory over time" }
                    div.memory {}
                    noscript { @for plot in &memory { figure { (plot) } } }
                    (picture_data("memory", data))
                } @else {
                    @for plot in &memory {
                        h2 { "Memory over time" }
                        figure { (plot) }
                    }
                }
                @for section in others {
                    (table(section))
                }
                @if pictures.served.is_none() { (folded(pictures, memory.is_empty())) }
                footer { "Written by Perfline." }
                @if pictures.has_script() { script { (PreEscaped(FLAME_SCRIPT)) } }
            }
        }
    };
    Ok(page.into_string())
}

/// What the page may do: nothing but show itself, run the one script that comes with Perfline, and ask the server that gave it.
fn policy(pictures: &Pictures) -> String {
    let script =
        if pictures.has_script() { format!("'{FLAME_HASH}'") } else { "'none'".to_owned() };
    let server = if pictures.served.is_some() { "; connect-src 'self'" } else { "" };
    format!("default-src 'none'; style-src 'unsafe-inline'; script-src {script}{server}")
}

/// The pictures that begin folded: at the end of a file, which people scroll through; of a page that a server gives, which
/// is opened for them, before the tables. So does memory over time where there is no device, whose memory is short.
fn folded(pictures: &Pictures, is_memory_folded: bool) -> Markup {
    let memory = pictures.memory.as_ref().filter(|_| is_memory_folded);
    html! {
        @if let Some(timeline) = &pictures.timeline { (picture("timeline", "Timeline", timeline)) }
        @if let Some(flame) = &pictures.flame { (picture("flame", "Flame graph", flame)) }
        @if let Some(roofline) = &pictures.roofline { (picture("roofline", "Roofline", roofline)) }
        @if let Some(memory) = memory { (picture("memory", "Memory over time", memory)) }
    }
}

/// A picture, folded: it is drawn when it is opened.
fn picture(name: &str, title: &str, data: &Value) -> Markup {
    html! {
        details.picture {
            summary { h2 { (title) } }
            div class=(name) {}
            noscript { p.about { "This picture needs JavaScript." } }
        }
        (picture_data(name, data))
    }
}

/// What a picture is drawn from.
fn picture_data(name: &str, data: &Value) -> Markup {
    // In a script element nothing but `<` can end the text, or begin a comment.
    let data = data.to_string().replace('<', "\\u003c");
    html! {
        script id={ (name) "-data" } type="application/json" { (PreEscaped(data)) }
    }
}

fn figures(report: &Report<'_>) -> Markup {
    html! {
        @if !report.figures.is_empty() {
            div.figures {
                @for figure in &report.figures {
                    div { b { (ShownText(&figure.text)) } span { (figure.name) } }
                }
            }
        }
    }
}

fn findings(findings: &[ReportedFinding]) -> Markup {
    let class = |it: &ReportedFinding| match it.severity {
        Severity::Warning => "warning",
        _ => "hint",
    };
    let rest = findings.len().saturating_sub(MAX_FINDINGS);
    html! {
        @if !findings.is_empty() {
            h2 { "Findings" }
            ol.findings {
                @for it in findings.iter().take(MAX_FINDINGS) {
                    li class=(class(it)) {
                        code.place { (ShownText(&it.place.to_string())) } " " b { (it.rule) }
                        (ShownText(it.message.strip_prefix(it.rule).unwrap_or(&it.message)))
                        p { (ShownText(it.remedy)) }
                    }
                }
            }
            @if rest != 0 {
                p.about { "and " (rest) " more" }
            }
        }
    }
}

/// Heading, table and notes. A column in which every cell is empty is left out.
fn table(section: &Section) -> Markup {
    let used = section.used_columns();
    let class = |index: &usize| match section.columns[*index].align {
        Align::Right => Some("n"),
        Align::Left => None,
    };
    html! {
        h2 { (section.title) }
        div.table {
            table {
                thead {
                    tr { @for index in &used { th class=[class(index)] { (section.columns[*index].name) } } }
                }
                tbody {
                    @for row in &section.rows {
                        tr { @for index in &used { td class=[class(index)] { (cell(&row[*index])) } } }
                    }
                }
            }
        }
        @if 0 < section.left_out {
            p.about { "… and " (section.left_out) " more" }
        }
        @for note in &section.notes {
            p.about { (ShownText(&note.marked())) }
        }
    }
}

/// Lines are marked, so that the script finds them.
fn cell(cell: &Cell) -> Markup {
    let CellValue::Places(places) = &cell.value else {
        return html! { (ShownText(&cell.text)) };
    };
    html! {
        @for (index, place) in places.iter().enumerate() {
            @if 0 < index { ", " }
            span.place { (ShownText(&place.to_string())) }
        }
    }
}

#[cfg(test)]
mod tests {
    use ledger::Metric;
    use stack_books::{StackFrame, StackRow};

    use super::{FLAME_HASH, Pictures, page};
    use crate::build::{ReportOptions, build};
    use crate::filter::CodeFilter;
    use crate::flame::{FlameStacks, PAGE_MIN_SHARE, flame};
    use crate::testing::{recording, sources, training, training_with_stacks};

    #[test]
    fn the_page_needs_nothing_else_and_says_what_the_report_says() {
        let (run, sources) = (training(), sources());
        let rules = insights::RuleOptions::default();
        let recording = recording(&run, &sources);
        let page =
            page(&build(&recording, &ReportOptions::new(3, rules)), &Pictures::default()).unwrap();
        let rest = page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "");
        for foreign in ["http", "<script", "<link", "src=", "@import", "url("] {
            assert!(!rest.contains(foreign), "{foreign}");
        }
        let expected = [
            "<title>trace.json.gz · 2 steps of 10 ms (9 ms to 11 ms)</title>",
            "<div><b>60 %</b><span>kernels run</span></div>",
            "<div><b>10 %</b><span>of peak FLOP/s</span></div>",
            "<code class=\"place\">train.py:18</code> <b>sync</b>: the CPU waits 2.5 ms per step here",
            "step 3\n</text>",
            "<h2>Lines by FLOPs</h2>",
            "<td>Model.forward</td>",
            "<h2>Books</h2>",
        ];
        for text in expected {
            assert!(page.contains(text), "{text}\n{page}");
        }
        for tag in ["table", "figure", "ol", "li", "div", "tr", "svg"] {
            let count = |it: &str| page.matches(it).count();
            let opened = count(&format!("<{tag} ")) + count(&format!("<{tag}>"));
            assert_eq!(opened, count(&format!("</{tag}>")), "{tag}");
        }
    }

    #[test]
    fn names_of_a_recording_are_escaped_and_hidden_characters_replaced() {
        let mut run = training();
        let line = run.merged.lines.values_mut().find(|it| it.function == "Model.forward");
        line.unwrap().function = "</td><script>\u{202e}\"&".to_owned();
        let sources = sources();
        let rules = insights::RuleOptions::default();
        let recording = recording(&run, &sources);
        let page =
            page(&build(&recording, &ReportOptions::new(9, rules)), &Pictures::default()).unwrap();
        assert!(page.contains("<td>&lt;/td&gt;&lt;script&gt;\u{fffd}&quot;&amp;</td>"), "{page}");
    }

    #[test]
    fn the_flame_graph_brings_one_script_and_its_names_are_data() {
        let (mut run, sources) = (training_with_stacks(), sources());
        let mut books = run.stacks.take().unwrap();
        let frame = books.frame(StackFrame::Operator("</script><!--\u{202e}".to_owned()));
        let stack = books.push(StackRow::ROOT, frame);
        books.add(Metric::Cpu, stack, 9_000_000);
        run.stacks = Some(books);
        let recording = recording(&run, &sources);
        let books = run.stacks.as_ref().unwrap();
        let stacks = FlameStacks::new(&recording, books, CodeFilter::ALL, None);
        let graph = flame(&recording, &stacks, None, "a title", PAGE_MIN_SHARE);
        let rules = insights::RuleOptions::default();
        let report = build(&recording, &ReportOptions::new(3, rules));
        let page =
            page(&report, &Pictures { flame: Some(graph.clone()), ..Pictures::default() }).unwrap();
        assert_eq!(page.matches("<script").count(), 2);
        assert_eq!(page.matches("</script").count(), 2);
        assert!(page.contains("\"\\u003c/script>\\u003c!--\u{fffd}\""), "{page}");
        assert!(page.contains(&format!("script-src '{FLAME_HASH}'\"")));
        let data = page.split_once("type=\"application/json\">").unwrap().1;
        let data = data.split_once("</script>").unwrap().0;
        assert_eq!(serde_json::from_str::<serde_json::Value>(data).unwrap(), graph);
    }
}
