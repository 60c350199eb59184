//! Tables of ranks and steps, in which each cell has its number and a colour. One of them is shown: which, is chosen by radio buttons, so
//! that the page needs no script for it and every table is there for who cannot see colours.

use maud::{Markup, html};

use ledger::Ns;

use crate::model::{HeatLayer, HeatMap, duration};

/// Percent of the alarm colour in the cell with the largest amount: the number in it stays legible.
const MAX_SHADE: f64 = 60.0;

/// Cells that differ by less than this share of the largest amount are not made to look different.
const MIN_RANGE: f64 = 0.1;

/// Draws the map.
pub(super) fn draw(map: &HeatMap) -> Markup {
    html! {
        section.heat-map {
            fieldset {
                legend { "Amount" }
                @for (index, layer) in map.layers.iter().enumerate() {
                    label {
                        input type="radio" name="heat" value=(index) checked[index == 0];
                        (layer.name)
                    }
                }
            }
            @for layer in &map.layers {
                div.heat-layer {
                    (table(map, layer))
                    p.about { (layer.about) }
                }
            }
        }
        @if map.left_out != 0 {
            p.about { (map.left_out) " ranks that others waited less for are left out." }
        }
    }
}

fn table(map: &HeatMap, layer: &HeatLayer) -> Markup {
    let amounts = || layer.rows.iter().flatten().flatten().map(|it| it.as_f64());
    let (least, most) = (amounts().fold(f64::INFINITY, f64::min), amounts().fold(0.0, f64::max));
    let range = (most - least).max(MIN_RANGE * most);
    let shade = |amount: Ns| match 0.0 < range {
        true => (MAX_SHADE * (amount.as_f64() - least) / range).round(),
        false => 0.0,
    };
    html! {
        div.table tabindex="0" {
            table.heat {
                caption { (layer.name) }
                thead {
                    tr {
                        th scope="col" { "rank" }
                        @for step in &map.steps { th.n scope="col" { "step " (step) } }
                    }
                }
                tbody {
                    @for (rank, row) in map.ranks.iter().zip(&layer.rows) {
                        tr {
                            th scope="row" { (rank) }
                            @for &amount in row {
                                @let amount = amount.filter(|it| *it != Ns::ZERO);
                                td.n style={ "--shade: " (amount.map_or(0.0, shade)) "%" } {
                                    @if let Some(amount) = amount { (duration(amount)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rows: [[i64; 2]; 2]) -> HeatMap {
        let rows = rows.map(|row| row.map(|it| Some(Ns(it))).into()).into();
        let layer = HeatLayer { id: "waitedFor", name: "waited for", about: "About it.", rows };
        HeatMap {
            steps: vec![3, 4],
            ranks: vec![0, 7],
            layers: vec![layer],
            left_out: 5,
            left_out_steps: 0,
        }
    }

    #[test]
    fn each_cell_has_its_number_and_a_colour() {
        let page = draw(&map([[0, 500_000], [2_000_000, 0]])).into_string();
        for text in [
            "<th class=\"n\" scope=\"col\">step 3</th>",
            "<th scope=\"row\">7</th>",
            "<td class=\"n\" style=\"--shade: 60%\">2 ms</td>",
            "<td class=\"n\" style=\"--shade: 15%\">500 µs</td>",
            "<td class=\"n\" style=\"--shade: 0%\"></td>",
            "<input type=\"radio\" name=\"heat\" value=\"0\" checked>waited for</label>",
            "5 ranks that others waited less for are left out.",
        ] {
            assert!(page.contains(text), "{text}\n{page}");
        }
    }

    #[test]
    fn amounts_that_are_alike_look_alike() {
        let page = draw(&map([[2_000_000, 1_980_000], [1_990_000, 1_980_000]])).into_string();
        let shades = ["6%\">2 ms", "0%\">1.98 ms", "3%\">1.99 ms"];
        assert!(shades.iter().all(|it| page.contains(&format!("--shade: {it}"))), "{page}");
    }
}
