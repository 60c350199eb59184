//! What the time of loading went to.

use ledger::Ns;

use std::time::Duration;

use loader::Timing;
use metrics::numbers;

use crate::model::{Cell, CellValue, Column, Section, Subject, Unit};

/// The section: stages of each input, with their share of the time that loading took.
#[must_use]
pub fn timing(timing: &Timing) -> Section {
    let columns = [
        Column::text(""),
        Column::number("time", Unit::Ns),
        Column::number("share", Unit::Share),
        Column::number("bytes", Unit::BytesPerSecond),
        Column::number("events", Unit::EventsPerSecond),
        Column::text("file"),
    ];
    let mut section = Section::new("timing", "Timing", Subject::Recording, columns);
    let mut add = |what: &str, time: Duration, rates: [Cell; 2], file: String| {
        let share = time.as_secs_f64() / timing.total.as_secs_f64().max(f64::EPSILON);
        let [bytes, events] = rates;
        let time = Cell::duration(i64::try_from(time.as_nanos()).map_or(Ns::MAX, Ns));
        let row = vec![Cell::text(what), time, Cell::share(share), bytes, events, Cell::text(file)];
        section.rows.push(row);
    };
    for it in &timing.inputs {
        let file = || loader::shown(&it.path).into_owned();
        let per_second = |n: u64| n as f64 / it.reading.as_secs_f64().max(f64::EPSILON);
        let (bytes, events) = (per_second(it.bytes).trunc(), per_second(it.events));
        let rates = [
            Cell {
                value: CellValue::Real(bytes, Unit::BytesPerSecond),
                text: format!("{}/s", numbers::bytes(bytes)),
            },
            Cell {
                value: CellValue::Real(events, Unit::EventsPerSecond),
                text: format!("{}/s", numbers::count(events)),
            },
        ];
        add("read", it.reading, rates, file());
        add("  beside: disk, decompress", it.unpacking, Default::default(), file());
        add("find sources", it.finding, Default::default(), file());
        add("attribute, infer", it.attributing, Default::default(), file());
    }
    for it in &timing.kept {
        let file = loader::shown(&it.path).into_owned();
        add("take the kept ledger", it.time, Default::default(), file);
    }
    add("merge", timing.merging, Default::default(), String::new());
    add("total", timing.total, Default::default(), String::new());
    section
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use loader::{KeptTime, Times};

    use super::*;
    use crate::terminal::{Colours, Terminal};

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
        let kept = KeptTime { path: "snapshot.pickle".into(), time: ms(4) };
        let timing =
            Timing { inputs: vec![input], kept: vec![kept], merging: ms(5), total: ms(200) };
        let mut out = Vec::new();
        let terminal = Terminal { colours: Colours::Plain, width: None };
        crate::text::section(&mut out, &super::timing(&timing), &terminal).unwrap();
        expect![[r#"

            Timing
                                            time  share        bytes  events  file
              read                        100 ms   50 %  0.977 GiB/s  2.5M/s  trace.json.gz
                beside: disk, decompress   80 ms   40 %                       trace.json.gz
              find sources                  5 ms  2.5 %                       trace.json.gz
              attribute, infer             90 ms   45 %                       trace.json.gz
              take the kept ledger          4 ms    2 %                       snapshot.pickle
              merge                         5 ms  2.5 %
              total                       200 ms  100 %
        "#]]
        .assert_eq(&String::from_utf8(out).unwrap());
    }
}
