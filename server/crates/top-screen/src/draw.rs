//! How the screen is drawn.

use ide::{Charge, HotLine, Period, Severity};
use metrics::mark_in_text;
use metrics::numbers::percent;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};
use report::terminal::{Colours, Ink, Terminal, clean, cut, cut_left, wrapped};

use crate::chosen_line::{ChosenLine, SourceLine};
use crate::screen::{List, Screen};

/// From this width on, the list stands beside the source.
const WIDE: u16 = 120;

/// Columns of a place in the list, at most.
const MAX_PLACE: usize = 40;

/// The keys, for those who ask.
const HELP: &[(&str, &str)] = &[
    ("↑ ↓  j k", "the line before, the next"),
    ("PgUp PgDn  g G", "ten lines on, the first, the last"),
    ("Tab", "lines or findings"),
    ("m M", "the next metric, the one before"),
    ("t", "own or total"),
    ("s S", "the next step, the one before; the mean; the whole run"),
    ("l", "lines of libraries too"),
    ("/", "only files, functions and rules with these letters; Esc: all"),
    ("J K", "more of the details, back"),
    ("Enter  e", "open the line in $VISUAL or $EDITOR"),
    ("q  Esc", "end"),
];

/// Columns that they need, with the frame around them.
const HELP_WIDTH: u16 = 80;

const FAINT: Style = Style::new().add_modifier(Modifier::DIM);
const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);

/// Draws the screen, with `message` in place of the keys.
pub fn draw(screen: &mut Screen<'_>, frame: &mut Frame<'_>, message: Option<&str>) {
    let title = head(screen, frame.area().width.into());
    let [head, bar, main, keys] = Layout::vertical([
        Constraint::Length(u16::try_from(title.len()).unwrap_or(u16::MAX)),
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(title), head);
    frame.render_widget(Paragraph::new(choices(screen)), bar);
    let (list_area, source_area, details_area) = areas(main);
    list(screen, frame, list_area);
    source(screen, frame, source_area);
    details(screen, frame, details_area);
    let below = match message {
        Some(message) => Line::styled(clean(message), STRONG),
        None => Line::styled(footer(screen), FAINT),
    };
    frame.render_widget(Paragraph::new(below), keys);
    if screen.is_help {
        help(frame);
    }
}

/// The recording, and the verdict in a line; or which part is shown, in as many lines as that takes.
fn head(screen: &Screen<'_>, width: usize) -> Vec<Line<'static>> {
    let [title, below] = screen.head.each_ref().map(|it| clean(it));
    let below = if screen.shown.is_all() { vec![below] } else { wrapped(&below, width) };
    let below = below.iter().map(|it| Line::raw(cut(it, Some(width))));
    let title = Line::styled(cut(&title, Some(width)), STRONG);
    std::iter::once(title).chain(below).collect()
}

/// Where the list, the source and the details are.
fn areas(main: Rect) -> (Rect, Rect, Rect) {
    if main.width < WIDE {
        let parts = [Constraint::Ratio(1, 3); 3];
        let [list, source, details] = Layout::vertical(parts).areas(main);
        return (list, source, details);
    }
    let parts = [Constraint::Ratio(2, 5), Constraint::Ratio(3, 5)];
    let [list, right] = Layout::horizontal(parts).spacing(1).areas(main);
    let [source, details] = Layout::vertical([Constraint::Ratio(1, 2); 2]).areas(right);
    (list, source, details)
}

/// What is listed, and by what.
fn choices(screen: &Screen<'_>) -> Line<'static> {
    let tab = |list: List, name: &str| {
        let style = if screen.list == list { CHOSEN } else { FAINT };
        Span::styled(format!(" {name} {} ", screen.n_rows(list)), style)
    };
    let period = match screen.view.period {
        Period::Mean | Period::Run if screen.has_sums() && screen.shown.part.is_some() => {
            "sum of the part".to_owned()
        }
        Period::Mean if screen.has_sums() => "whole run".to_owned(),
        Period::Mean => "mean step".to_owned(),
        Period::Step(step) => format!("step {step}"),
        Period::Run => "whole run".to_owned(),
    };
    let charge = match screen.view.charge {
        Charge::Own => "own",
        Charge::Total => "total",
    };
    let mut parts = vec![format!("{} {charge}", screen.metric().name()), period];
    if !screen.own_only {
        parts.push("libraries too".to_owned());
    }
    if screen.is_typing || !screen.filter.is_empty() {
        let cursor = if screen.is_typing { "▏" } else { "" };
        parts.push(format!("/{}{cursor}", clean(&screen.filter)));
    }
    Line::from(vec![
        tab(List::Lines, "Lines"),
        Span::raw(" "),
        tab(List::Findings, "Findings"),
        Span::raw(format!("   {}", parts.join(" · "))),
    ])
}

fn footer(screen: &Screen<'_>) -> &'static str {
    if screen.is_typing {
        "letters of a file, a function or a rule · Enter keeps them · Esc shows all"
    } else {
        "↑↓ choose · Tab findings · m metric · t total · s step · / filter · ? keys · q end"
    }
}

/// The rows that are shown, so that the chosen one is among them and, where there are more, in the middle.
fn window(n_rows: usize, chosen: usize, height: usize) -> std::ops::Range<usize> {
    let first = chosen.saturating_sub(height / 2).min(n_rows.saturating_sub(height));
    first..n_rows.min(first + height)
}

fn list(screen: &Screen<'_>, frame: &mut Frame<'_>, area: Rect) {
    let width: usize = area.width.into();
    let rows: Vec<Line<'_>> = match screen.list {
        List::Lines => {
            let shown = window(screen.lines.len(), screen.chosen(), area.height.into());
            let places: Vec<String> =
                screen.lines[shown.clone()].iter().map(|it| place(screen, it)).collect();
            let widest = places.iter().map(|it| it.chars().count()).max().unwrap_or(0);
            let widest = widest.min(MAX_PLACE).min(width.saturating_sub(24));
            let row = |(index, place): (usize, &String)| {
                let it = &screen.lines[index];
                let place = cut_left(place, Some(widest));
                let room = width.saturating_sub(widest + 24);
                let function = cut(&clean(&it.function), Some(room));
                let rest = format!(" {place:<widest$}  {function}");
                let evidence = mark_in_text(it.evidence, false);
                Line::from(vec![
                    cost(screen, it.share, &format!("{:>7} {:>9} ", percent(it.share), it.text)),
                    Span::raw(format!("{evidence:>3}")),
                    if index == screen.chosen() {
                        Span::styled(rest, CHOSEN)
                    } else {
                        Span::raw(rest)
                    },
                ])
            };
            shown.zip(&places).map(row).collect()
        }
        List::Findings => {
            let shown = window(screen.n_rows(List::Findings), screen.chosen(), area.height.into());
            let findings = screen.listed_findings().enumerate();
            let findings = findings.skip(shown.start).take(shown.len());
            let row = |(index, it): (usize, &report::ReportedFinding)| {
                let severity = match it.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warn",
                    Severity::Information => "info",
                    Severity::Hint => "hint",
                };
                let text = format!(" {}  {}", clean(&it.place.to_string()), clean(&it.message));
                let text = cut(&text, Some(width.saturating_sub(13)));
                let share = if it.share == 0.0 { String::new() } else { percent(it.share) };
                Line::from(vec![
                    cost(screen, it.share, &format!("{share:>7} ")),
                    Span::styled(format!("{severity:>5}"), FAINT),
                    if index == screen.chosen() {
                        Span::styled(text, CHOSEN)
                    } else {
                        Span::raw(text)
                    },
                ])
            };
            findings.map(row).collect()
        }
    };
    if rows.is_empty() {
        let nothing = if screen.filter.is_empty() {
            "nothing here: m another metric, s another step, t own or total (steps have own alone), l libraries"
        } else {
            "nothing has these letters: Esc shows all"
        };
        frame.render_widget(Paragraph::new(Line::styled(nothing, FAINT)), area);
        return;
    }
    frame.render_widget(Paragraph::new(rows), area);
}

fn place(screen: &Screen<'_>, line: &HotLine) -> String {
    clean(&format!("{}:{}", screen.recording.file(&line.file), line.line))
}

/// What something costs, on the colour of its share.
fn cost(screen: &Screen<'_>, share: f64, text: &str) -> Span<'static> {
    let style = match screen.colours {
        Colours::Plain => Style::new(),
        _ if share <= 0.0 => Style::new(),
        colours => {
            let heat = Terminal { colours, width: None }.heat(share);
            let colour = |ink: Option<Ink>| match ink {
                Some(Ink::Ansi256(index)) => Color::Indexed(index.0),
                Some(Ink::Rgb(rgb)) => Color::Rgb(rgb.0, rgb.1, rgb.2),
                _ => Color::Reset,
            };
            Style::new().bg(colour(heat.get_bg_color())).fg(colour(heat.get_fg_color()))
        }
    };
    Span::styled(text.to_owned(), style)
}

/// A pane with a title, and what is in it.
fn pane(frame: &mut Frame<'_>, area: Rect, title: String) -> Rect {
    let block = Block::new().borders(Borders::TOP).border_style(FAINT).title(title);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

fn source(screen: &Screen<'_>, frame: &mut Frame<'_>, area: Rect) {
    let Some(line) = &screen.line else { return };
    let inner = pane(frame, area, format!(" {} ", clean(&line.name)));
    let Some(at) = line.at else {
        let why = if line.source.is_empty() {
            "the source is not found here: name its folder with --root or --site"
        } else {
            "the line is not in the file any more"
        };
        frame.render_widget(Paragraph::new(Line::styled(why, FAINT)), inner);
        return;
    };
    let shown = window(line.source.len(), at, inner.height.into());
    let rows: Vec<Line<'_>> = shown.map(|index| source_line(screen, line, index, at)).collect();
    frame.render_widget(Paragraph::new(rows), inner);
}

fn source_line<'a>(screen: &Screen<'_>, line: &'a ChosenLine, index: usize, at: usize) -> Line<'a> {
    let SourceLine { text, cost: of_line } = &line.source[index];
    let number =
        Span::styled(format!("{:>5} ", index + 1), if index == at { CHOSEN } else { FAINT });
    let (amount, evidence) = match of_line {
        Some((it, is_stale)) => {
            let text = format!("{:>9} ", it.text);
            (cost(screen, it.share, &text), mark_in_text(it.evidence, *is_stale))
        }
        None => (Span::raw(" ".repeat(10)), ""),
    };
    let text = Span::styled(text.as_str(), if index == at { STRONG } else { Style::new() });
    Line::from(vec![amount, Span::raw(format!("{evidence:>4}")), number, text])
}

fn details(screen: &mut Screen<'_>, frame: &mut Frame<'_>, area: Rect) {
    let (recording, shown) = (screen.recording, screen.shown);
    let Some(line) = &mut screen.line else { return };
    let inner = pane(frame, area, " Details ".to_owned());
    let lines = line.details(recording, &shown, inner.width.into());
    let last = lines.len().saturating_sub(inner.height.into());
    screen.scrolled = screen.scrolled.min(last);
    let shown = lines.iter().skip(screen.scrolled).take(inner.height.into());
    let rows: Vec<Line<'_>> = shown
        .map(|it| {
            // Titles of tables begin at the left.
            let style = if it.starts_with(' ') { Style::new() } else { STRONG };
            Line::styled(it.as_str(), style)
        })
        .collect();
    frame.render_widget(Paragraph::new(rows), inner);
}

fn help(frame: &mut Frame<'_>) {
    let lines: Vec<Line<'_>> = HELP
        .iter()
        .map(|(key, what)| {
            Line::from(vec![Span::styled(format!(" {key:<16}"), STRONG), Span::raw(*what)])
        })
        .collect();
    let area = frame.area();
    let height = u16::try_from(HELP.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let width = HELP_WIDTH.min(area.width);
    let area = Rect::new((area.width - width) / 2, (area.height - height) / 2, width, height);
    frame.render_widget(Clear, area);
    let block = Block::bordered().title(" Keys ");
    frame.render_widget(Paragraph::new(lines).block(block), area);
}
