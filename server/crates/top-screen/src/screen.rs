//! What is chosen, and what a key does.

use ide::{Charge, HotLine, Period, View, ViewMetric};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use report::terminal::Colours;
use report::{Recording, ReportOptions, ReportedFinding};

use crate::chosen_line::{ChosenLine, OpenFile};
use crate::screen_filter::ScreenFilter;

/// Lines that are listed at most.
const MAX_LINES: usize = 2_000;

/// Lines by which a page of details is turned.
const PAGE: isize = 10;

/// What the program does after a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Draws the screen again.
    Draw,
    /// Ends.
    Quit,
    /// Opens a file in the user's editor, at a line of it as it is now.
    Edit(OpenFile),
}

/// What is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Lines,
    Findings,
}

/// A recording on a screen, with what is chosen of it.
pub struct Screen<'a> {
    pub(crate) recording: &'a Recording<'a>,
    pub(crate) shown: ScreenFilter<'a>,
    pub(crate) colours: Colours,
    /// The name of the recording, and what limits its step, or which part is shown.
    pub(crate) head: [String; 2],
    /// All findings, the costliest first.
    findings: Vec<ReportedFinding>,
    /// The metrics that the recording has.
    metrics: Vec<ViewMetric>,
    /// What numbers can stand for: the mean step, each step, the recording.
    periods: Vec<Period>,
    pub(crate) view: View,
    /// Whether lines of libraries are left out.
    pub(crate) own_only: bool,
    pub(crate) list: List,
    /// What the place or the function of a row must contain, in lower case.
    pub(crate) filter: String,
    /// Whether keys are letters of the filter.
    pub(crate) is_typing: bool,
    pub(crate) is_help: bool,
    /// The lines that are listed, the one with most first.
    pub(crate) lines: Vec<HotLine>,
    /// The findings that are listed, by their place among all.
    listed_findings: Vec<usize>,
    /// The chosen row of each list.
    chosen: [usize; 2],
    /// The source and the details of the chosen row; `None` where nothing is listed.
    pub(crate) line: Option<ChosenLine>,
    /// The first line of the details that is shown.
    pub(crate) scrolled: usize,
}

impl<'a> Screen<'a> {
    /// What is shown of a recording, as it is first shown: as `view` says, as far as the recording has that, else by the metric
    /// that fits it, in the mean step.
    #[must_use]
    pub fn new(
        recording: &'a Recording<'a>,
        shown: ScreenFilter<'a>,
        colours: Colours,
        mut view: View,
    ) -> Self {
        let ledger = &recording.run.merged;
        let code = shown.code.clone();
        let options = ReportOptions { top: 0, rules: view.rules(), limits: Vec::new(), code };
        let report = report::build_shown(recording, &options, shown.part);
        let has_some = |metric: &ViewMetric| {
            let view = View { metric: Some(*metric), ..View::default() };
            !ide::hot_lines(ledger, &view, 1, false, |_, _| true).is_empty()
        };
        let mut periods = vec![Period::Mean];
        if !ledger.steps.is_empty() {
            periods.extend(ledger.steps.keys().map(|it| Period::Step(*it)));
            periods.push(Period::Run);
        }
        view.metric = view.metric.filter(has_some);
        if !periods.contains(&view.period) {
            view.period = Period::Mean;
        }
        let verdict = report.verdict.map(|it| it.text).unwrap_or_default();
        let second = shown.sentence().unwrap_or(verdict);
        let mut screen = Self {
            recording,
            shown,
            colours,
            head: [report.summary.title(), second],
            findings: report.findings,
            metrics: ViewMetric::ALL.into_iter().filter(has_some).collect(),
            periods,
            view,
            own_only: true,
            list: List::Lines,
            filter: String::new(),
            is_typing: false,
            is_help: false,
            lines: Vec::new(),
            listed_findings: Vec::new(),
            chosen: [0; 2],
            line: None,
            scrolled: 0,
        };
        screen.fill();
        if screen.lines.is_empty() {
            // All that the metric has is of libraries.
            screen.own_only = false;
            screen.fill();
        }
        screen
    }

    /// Takes a key.
    pub fn press(&mut self, key: KeyEvent) -> Outcome {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Outcome::Quit;
        }
        if self.is_help {
            self.is_help = false;
            return Outcome::Draw;
        }
        if self.is_typing {
            self.type_in(key.code);
            return Outcome::Draw;
        }
        match key.code {
            KeyCode::Char('q') => return Outcome::Quit,
            KeyCode::Esc if self.filter.is_empty() => return Outcome::Quit,
            KeyCode::Esc => {
                self.filter.clear();
                self.fill();
            }
            KeyCode::Enter | KeyCode::Char('e') => {
                if let Some(file) = self.line.as_ref().and_then(ChosenLine::file) {
                    return Outcome::Edit(file);
                }
            }
            KeyCode::Char('?' | 'h') => self.is_help = true,
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Up | KeyCode::Char('k') => self.choose(-1),
            KeyCode::Down | KeyCode::Char('j') => self.choose(1),
            KeyCode::PageUp => self.choose(-PAGE),
            KeyCode::PageDown => self.choose(PAGE),
            KeyCode::Home | KeyCode::Char('g') => self.choose(isize::MIN),
            KeyCode::End | KeyCode::Char('G') => self.choose(isize::MAX),
            KeyCode::Char('K') => self.scrolled = self.scrolled.saturating_sub(PAGE.unsigned_abs()),
            KeyCode::Char('J') => self.scrolled += PAGE.unsigned_abs(),
            KeyCode::Tab | KeyCode::BackTab => {
                self.list = match self.list {
                    List::Lines => List::Findings,
                    List::Findings => List::Lines,
                };
                self.look();
            }
            KeyCode::Char('m') => self.turn_metric(1),
            KeyCode::Char('M') => self.turn_metric(-1),
            KeyCode::Char('s') => self.turn_period(1),
            KeyCode::Char('S') => self.turn_period(-1),
            KeyCode::Char('t') => {
                self.view.charge = match self.view.charge {
                    Charge::Own => Charge::Total,
                    Charge::Total => Charge::Own,
                };
                self.fill();
            }
            KeyCode::Char('l') => {
                self.own_only = !self.own_only;
                self.fill();
            }
            _ => {}
        }
        Outcome::Draw
    }

    /// A key while the filter is typed.
    fn type_in(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.filter.clear();
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(letter) => self.filter.extend(letter.to_lowercase()),
            _ => return,
        }
        self.fill();
    }

    fn turn_metric(&mut self, by: isize) {
        let now = self.metric();
        self.view.metric = turned(&self.metrics, now, by).or(self.view.metric);
        self.fill();
    }

    fn turn_period(&mut self, by: isize) {
        self.view.period = turned(&self.periods, self.view.period, by).unwrap_or_default();
        self.fill();
    }

    /// The metric that is shown.
    pub(crate) fn metric(&self) -> ViewMetric {
        self.view.effective_metric(&self.recording.run.merged)
    }

    /// Whether numbers are sums, not those of a step.
    pub(crate) fn has_sums(&self) -> bool {
        self.view.period == Period::Run || self.recording.run.merged.steps.is_empty()
    }

    /// The chosen row of the list that is shown.
    pub(crate) fn chosen(&self) -> usize {
        self.chosen[self.list as usize]
    }

    /// Rows of a list.
    pub(crate) fn n_rows(&self, list: List) -> usize {
        match list {
            List::Lines => self.lines.len(),
            List::Findings => self.listed_findings.len(),
        }
    }

    /// The findings that are listed.
    pub(crate) fn listed_findings(&self) -> impl Iterator<Item = &ReportedFinding> {
        self.listed_findings.iter().map(|it| &self.findings[*it])
    }

    fn choose(&mut self, by: isize) {
        let last = self.n_rows(self.list).saturating_sub(1);
        let chosen = &mut self.chosen[self.list as usize];
        *chosen = chosen.saturating_add_signed(by).min(last);
        self.look();
    }

    /// Lists what fits the choice. The row that was chosen stays so, where it is still listed.
    fn fill(&mut self) {
        let recording = self.recording;
        let filter = self.filter.clone();
        let is_wanted = |texts: [&str; 3]| {
            filter.is_empty() || texts.iter().any(|it| it.to_lowercase().contains(&filter))
        };
        let before = self.lines.get(self.chosen[List::Lines as usize]);
        let before = before.map(|it| (it.file.clone(), it.line));
        let ledger = &recording.run.merged;
        let mut lines =
            ide::hot_lines(ledger, &self.view, MAX_LINES, self.own_only, |file, line| {
                self.shown.passes(recording, file, line)
            });
        lines.retain(|it| is_wanted([recording.file(&it.file), &it.function, ""]));
        let is_before = |it: &HotLine| before.as_ref() == Some(&(it.file.clone(), it.line));
        self.chosen[List::Lines as usize] = lines.iter().position(is_before).unwrap_or(0);
        self.lines = lines;
        let findings = self.findings.iter().enumerate();
        let findings =
            findings.filter(|(_, it)| is_wanted([&it.place.file, &it.function, it.rule]));
        self.listed_findings = findings.map(|(index, _)| index).collect();
        let last = self.listed_findings.len().saturating_sub(1);
        let chosen = &mut self.chosen[List::Findings as usize];
        *chosen = (*chosen).min(last);
        self.look();
    }

    /// Reads the source and the details of the chosen row.
    fn look(&mut self) {
        self.scrolled = 0;
        let recording = self.recording;
        let place = match self.list {
            List::Lines => self.lines.get(self.chosen()).map(|it| (it.file.clone(), it.line)),
            List::Findings => {
                let finding = self.listed_findings.get(self.chosen());
                let place = finding.and_then(|it| self.findings.get(*it)).map(|it| &it.place);
                place.and_then(|it| {
                    let mut keys = recording.names.iter().filter(|(_, name)| **name == it.file);
                    Some((keys.next()?.0.to_string(), it.line))
                })
            }
        };
        let before = self.line.take();
        let (shown, view) = (&self.shown, &self.view);
        self.line =
            place.map(|(file, line)| ChosenLine::new(recording, shown, view, before, file, line));
    }
}

/// The one that is `by` behind `now`, around the end.
fn turned<T: Copy + PartialEq>(all: &[T], now: T, by: isize) -> Option<T> {
    let at = all.iter().position(|it| *it == now).unwrap_or(0);
    let length = isize::try_from(all.len()).ok().filter(|it| 0 < *it)?;
    let next = (isize::try_from(at).ok()? + by).rem_euclid(length);
    all.get(usize::try_from(next).ok()?).copied()
}
