//! The report as one page: plots, findings with what to do, and every table. It needs no script and no other file.

use insights::{Finding, Severity};
use ledger::DeviceOverview;
use loader::Run;

use super::{Lines, plots};
use crate::commands::memory::picture;
use crate::numbers::{duration, percent};
use crate::summary;
use crate::table::{Table, escape};
use crate::terminal::{Colours, Terminal};

/// So many findings are told; the costliest come first.
const MOST_FINDINGS: usize = 30;

const STYLE: &str = include_str!("html/style.css");

/// The page. `found` comes first, the costliest on top.
///
/// # Errors
/// If a plot cannot be laid out.
pub(super) fn page(
    run: &Run,
    lines: &Lines<'_>,
    found: &[Finding],
    sections: &[(&str, Table)],
) -> Result<String, Box<dyn std::error::Error>> {
    let plain = Terminal { colours: Colours::Plain, width: None };
    let about = summary::lines(run, lines.scale, &plain);
    let title = about.first().map(|it| escape(it)).unwrap_or_default();
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    );
    for line in about.iter().skip(1) {
        page += &format!("<p class=about>{}</p>\n", escape(line));
    }
    page += &figures(run);
    page += &findings(found, lines);
    if let Some(plot) = plots::breakdown(run)? {
        page += &format!("<h2>Time</h2>\n<figure>{plot}</figure>\n");
    }
    // What to change stands before what it is made of.
    let is_of_lines = |title: &str| title.starts_with("Lines ");
    page += &tables(sections, is_of_lines);
    if !run.merged.memory.is_empty() {
        let plot = picture::draw(&run.merged)?;
        page += &format!("<h2>Memory over time</h2>\n<figure>{plot}</figure>\n");
    }
    page += &tables(sections, |title| !is_of_lines(title));
    page += "<footer>Written by Perfline.</footer>\n</body>\n</html>\n";
    Ok(page)
}

fn tables(sections: &[(&str, Table)], wanted: impl Fn(&str) -> bool) -> String {
    let told = sections.iter().filter(|(title, table)| wanted(title) && !table.is_empty());
    told.map(|(title, table)| format!("<h2>{}</h2>\n{}", escape(title), table.html())).collect()
}

/// The numbers to look at first. Shares of several devices are their means.
fn figures(run: &Run) -> String {
    let overviews = || run.ranks.iter().flat_map(|rank| rank.ledger.overviews.values());
    let devices: Vec<_> =
        overviews().flat_map(|it| it.devices.values()).filter(|it| it.kernels != 0).collect();
    let mean = |share: fn(&DeviceOverview) -> Option<f64>| {
        let known: Vec<f64> = devices.iter().filter_map(|it| share(it)).collect();
        let sum: f64 = known.iter().sum();
        (!known.is_empty()).then(|| percent(sum / known.len() as f64))
    };
    let exposed = |it: &DeviceOverview| {
        let part = it.exposed_communication as f64 / it.span.max(1) as f64;
        (it.communication != 0).then_some(part)
    };
    let of_peak = |it: &DeviceOverview| {
        let rates = it.arithmetic.iter().filter_map(|(&precision, work)| {
            let share = work.peak_share(precision, it.peak.as_ref()?)?;
            Some((share * work.time as f64, work.time as f64))
        });
        let (done, time) = rates.fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        (0.0 < time).then(|| done / time)
    };
    let (number, time) =
        overviews().fold((0, 0), |sum, it| (sum.0 + it.steps.len(), sum.1 + it.run.time));
    let step = i64::try_from(number).ok().and_then(|number| time.checked_div(number));
    let figures = [
        ("mean step", step.map(duration)),
        ("kernels run", mean(DeviceOverview::utilisation)),
        ("SM efficiency", mean(DeviceOverview::multiprocessor_efficiency)),
        ("occupancy", mean(DeviceOverview::occupancy)),
        ("on tensor cores", mean(DeviceOverview::tensor_core_share)),
        ("of peak FLOP/s", mean(of_peak)),
        ("exposed communication", mean(exposed)),
    ];
    let cards = figures.into_iter().filter_map(|(name, value)| {
        Some(format!("<div><b>{}</b><span>{name}</span></div>\n", escape(&value?)))
    });
    let cards: String = cards.collect();
    if cards.is_empty() { cards } else { format!("<div class=figures>\n{cards}</div>\n") }
}

/// What the rules found.
fn findings(found: &[Finding], lines: &Lines<'_>) -> String {
    let items: Vec<String> = found
        .iter()
        .map(|it| {
            let message = ide::finding_message(it);
            let message = message.strip_prefix(it.rule).unwrap_or(&message);
            let class = match it.severity {
                Severity::Warning => "warning",
                _ => "hint",
            };
            format!(
                "<li class={class}><code>{}</code> <b>{}</b>{}<p>{}</p></li>\n",
                escape(&lines.place(&it.place)),
                it.rule,
                escape(message),
                escape(it.remedy),
            )
        })
        .collect();
    if items.is_empty() {
        return String::new();
    }
    let shown = items.len().min(MOST_FINDINGS);
    let rest = items.len() - shown;
    let more =
        if rest == 0 { String::new() } else { format!("<p class=about>and {rest} more</p>\n") };
    format!("<h2>Findings</h2>\n<ol class=findings>\n{}</ol>\n{more}", items[..shown].concat())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use crate::args::{Limits, Recording, Report};
    use crate::commands::report::write;
    use crate::terminal::{Colours, Terminal};
    use crate::testing::{sources, training};

    #[test]
    fn the_page_needs_nothing_else_and_tells_what_the_report_tells() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        let recording = Recording { root: PathBuf::from("."), ..Recording::default() };
        let args = Report {
            recording,
            top: 3,
            html: Some(path.clone()),
            timing: false,
            limits: Limits::default(),
        };
        let terminal = Terminal { colours: Colours::Plain, width: None };
        write(&mut Vec::new(), &training(), &args, &sources(), &terminal).unwrap();
        let page = std::fs::read_to_string(&path).unwrap();
        let rest = page.replace("http://www.w3.org/2000/svg", "");
        for foreign in ["http", "<script", "<link", "src=", "@import", "url("] {
            assert!(!rest.contains(foreign), "{foreign}");
        }
        let expected = [
            "<title>trace.json.gz · 2 steps of 10 ms (9 ms to 11 ms)</title>",
            "<div><b>60 %</b><span>kernels run</span></div>",
            "<div><b>10 %</b><span>of peak FLOP/s</span></div>",
            "<code>train.py:18</code> <b>sync</b>: the CPU waits 2.5 ms per step here",
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
}
