//! The sources of two runs side by side, as a table.

use maud::{Markup, html};

use super::shown_text::ShownText;
use crate::model::{CellValue, SideLine, SideLines, SideRow, SourcePair};

/// Draws a file.
pub(super) fn draw(pair: &SourcePair) -> Markup {
    let n_columns = 2 * (pair.columns.len() + 2) + 1;
    html! {
        div.sides tabindex="0" {
            table {
                caption { code { (ShownText(&pair.name)) } }
                thead {
                    tr {
                        (heading(pair, "base"))
                        (heading(pair, "new"))
                        th.n scope="col" { "change" }
                    }
                }
                tbody {
                    @for row in &pair.rows {
                        @match row {
                            SideRow::Gap(function) => tr.gap {
                                td colspan=(n_columns) { "… " code { (ShownText(function)) } }
                            },
                            SideRow::Lines(lines) => (line(pair, lines)),
                        }
                    }
                }
            }
        }
        @if pair.left_out != 0 {
            p.about { "… and " (pair.left_out) " more lines" }
        }
    }
}

fn heading(pair: &SourcePair, run: &str) -> Markup {
    html! {
        th.n scope="col" { "line" }
        @for name in &pair.columns { th.n scope="col" { (name) } }
        th.code scope="col" { (run) }
    }
}

fn line(pair: &SourcePair, lines: &SideLines) -> Markup {
    let edited = |class: &'static str| if lines.is_edited() { class } else { "code" };
    let change = match lines.change.value {
        CellValue::Real(delta, _) if delta < 0.0 => "n faster",
        CellValue::Real(..) => "n slower",
        _ => "n",
    };
    html! {
        tr {
            (side(pair, lines.base.as_ref(), edited("code removed")))
            (side(pair, lines.new.as_ref(), edited("code added")))
            td class=(change) { (ShownText(&lines.change.text)) }
        }
    }
}

/// The cells of one side; empty ones where it has no line.
fn side(pair: &SourcePair, line: Option<&SideLine>, class: &str) -> Markup {
    let Some(line) = line else {
        return html! { td.none colspan=(pair.columns.len() + 2) {} };
    };
    html! {
        td.n.faint { (line.number) }
        @for cost in &line.costs {
            td.n {
                @if !cost.is_empty() && !line.mark.is_empty() { span.faint { (line.mark) " " } }
                (ShownText(cost))
            }
        }
        td class=(class) { code { (ShownText(&line.text)) } }
    }
}
