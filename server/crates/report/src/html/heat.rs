//! A table of ranks and steps, in which each cell has its number and a colour.

use maud::{Markup, html};

use ledger::Ns;

use crate::model::{HeatMap, HeatRow, duration};

/// Percent of the alarm colour in the cell with the longest wait: the number in it stays legible.
const MAX_SHADE: f64 = 60.0;

/// Draws the map.
pub(super) fn draw(map: &HeatMap) -> Markup {
    let waits = map.rows.iter().flat_map(|row| &row.waits);
    let longest = waits.copied().max().unwrap_or(Ns::ZERO);
    let shade = |wait: Ns| match longest {
        Ns::ZERO => 0.0,
        longest => (MAX_SHADE * wait.as_f64() / longest.as_f64()).round(),
    };
    html! {
        div.table {
            table.heat {
                thead {
                    tr {
                        th scope="col" { "rank" }
                        @for step in &map.steps { th.n scope="col" { "step " (step) } }
                    }
                }
                tbody {
                    @for HeatRow { rank, waits } in &map.rows {
                        tr {
                            th scope="row" { (rank) }
                            @for &wait in waits {
                                td.n style={ "--shade: " (shade(wait)) "%" } {
                                    @if wait != Ns::ZERO { (duration(wait)) }
                                }
                            }
                        }
                    }
                }
            }
        }
        p.about {
            "Of each collective the longest wait counts, for the rank that began last."
            @if map.left_out != 0 {
                " " (map.left_out) " ranks that others waited less for are left out."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_has_its_number_and_a_colour() {
        let row = |rank, waits: [i64; 2]| HeatRow { rank, waits: waits.map(Ns).into() };
        let rows = vec![row(0, [0, 500_000]), row(7, [2_000_000, 0])];
        let page = draw(&HeatMap { steps: vec![3, 4], rows, left_out: 5 }).into_string();
        for text in [
            "<th class=\"n\" scope=\"col\">step 3</th>",
            "<th scope=\"row\">7</th>",
            "<td class=\"n\" style=\"--shade: 60%\">2 ms</td>",
            "<td class=\"n\" style=\"--shade: 15%\">500 µs</td>",
            "<td class=\"n\" style=\"--shade: 0%\"></td>",
            " 5 ranks that others waited less for are left out.",
        ] {
            assert!(page.contains(text), "{text}\n{page}");
        }
    }
}
