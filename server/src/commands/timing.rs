//! `perfline report --timing`: what the time of loading went to.

use std::io::{self, Write};
use std::time::Duration;

use loader::Timing;

use crate::numbers::{bytes, count, duration, percent};
use crate::table::{Align, Table};
use crate::terminal::{STRONG, Terminal};

/// Prints the section.
///
/// # Errors
/// If `out` cannot be written.
pub(crate) fn write(out: &mut dyn Write, timing: &Timing, terminal: &Terminal) -> io::Result<()> {
    writeln!(out, "\n{}", terminal.paint(STRONG, "Timing"))?;
    table(timing).write(out, terminal)
}

fn table(timing: &Timing) -> Table {
    let mut table = Table::new(&[
        ("", Align::Left),
        ("time", Align::Right),
        ("share", Align::Right),
        ("bytes", Align::Right),
        ("events", Align::Right),
        ("file", Align::Left),
    ]);
    let mut add = |what: &str, time: Duration, rates: [String; 2], file: String| {
        let share = percent(time.as_secs_f64() / timing.total.as_secs_f64().max(f64::EPSILON));
        let [bytes, events] = rates;
        table.add_row(vec![what.to_owned(), shown(time), share, bytes, events, file]);
    };
    for it in &timing.inputs {
        let file = || loader::shown(&it.path).into_owned();
        let a_second = |n: u64| n as f64 / it.reading.as_secs_f64().max(f64::EPSILON);
        let rates = [
            format!("{}/s", bytes(a_second(it.bytes) as i64)),
            format!("{}/s", count(a_second(it.events))),
        ];
        add("read", it.reading, rates, file());
        add("  beside: disk, decompress", it.unpacking, Default::default(), file());
        add("find sources", it.finding, Default::default(), file());
        add("attribute, infer", it.attributing, Default::default(), file());
    }
    add("merge", timing.merging, Default::default(), String::new());
    add("total", timing.total, Default::default(), String::new());
    table
}

fn shown(time: Duration) -> String {
    duration(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use loader::Times;

    use super::*;
    use crate::terminal::Colours;
    use crate::testing::expect;

    #[test]
    fn stages_have_their_share_and_reading_its_rates() {
        let ms = Duration::from_millis;
        let input = Times {
            path: "trace.json.gz".into(),
            bytes: 100 << 20,
            events: 250_000,
            reading: ms(100),
            unpacking: ms(80),
            finding: ms(5),
            attributing: ms(90),
        };
        let timing = Timing { inputs: vec![input], merging: ms(5), total: ms(200) };
        let mut out = Vec::new();
        let terminal = Terminal { colours: Colours::Plain, width: None };
        write(&mut out, &timing, &terminal).unwrap();
        expect(
            &String::from_utf8(out).unwrap(),
            "

Timing
                                time  share        bytes  events  file
  read                        100 ms   50 %  0.977 GiB/s  2.5M/s  trace.json.gz
    beside: disk, decompress   80 ms   40 %                       trace.json.gz
  find sources                  5 ms  2.5 %                       trace.json.gz
  attribute, infer             90 ms   45 %                       trace.json.gz
  merge                         5 ms  2.5 %
  total                       200 ms  100 %
",
        );
    }
}
