//! Puts anomalies into traces that stay valid: what other programs write, and what concatenated files
//! look like.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// One anomaly. Events are counted from 0, beyond the last from 0 again.
#[derive(Debug, Clone)]
pub enum Anomaly {
    /// The event has this JSON text for its `args`; no `args` where it is empty.
    Args(usize, &'static str),
    /// The keys of the event, and those of its `args`, are in another order, one of all possible orders, by its number.
    Keys(usize, usize),
    /// The event is there twice: another copy of it takes this place.
    Doubled(usize, usize),
    /// Two events changed places.
    Swapped(usize, usize),
}

/// Texts that may stand where the object of `args` belongs.
pub const ARGS: [&str; 10] = [
    "",
    "null",
    "{}",
    "[]",
    "[1, {\"External id\": 2}]",
    "\"\"",
    "\"External id\"",
    "5",
    "-0.5",
    "true",
];

/// `trace` as [`crate::builder::render`] writes it, with `anomalies`. Events of which `is_single` says so are not doubled.
///
/// # Errors
/// If the trace is not JSON, or its events are no objects.
pub fn with_anomalies(
    trace: &str,
    anomalies: &[Anomaly],
    is_single: impl Fn(&str) -> bool,
) -> serde_json::Result<String> {
    let top: BTreeMap<String, &RawValue> = serde_json::from_str(trace)?;
    let Some(events) = top.get("traceEvents") else { return Ok(trace.to_owned()) };
    let events: Vec<&RawValue> = serde_json::from_str(events.get())?;
    let mut events: Vec<String> = events.iter().map(|it| it.get().to_owned()).collect();
    let n_events = events.len().max(1);
    for anomaly in anomalies {
        match *anomaly {
            _ if events.is_empty() => {}
            Anomaly::Args(event, args) => {
                let event = &mut events[event % n_events];
                let mut members = members(event)?;
                members.retain(|(key, _)| key != "args");
                if !args.is_empty() {
                    members.push(("args".to_owned(), args.to_owned()));
                }
                *event = object(&members);
            }
            Anomaly::Keys(event, order) => {
                let event = &mut events[event % n_events];
                let mut members = members(event)?;
                for (key, value) in &mut members {
                    if key == "args" && value.starts_with('{') {
                        *value = object(&shuffled(self::members(value)?, order));
                    }
                }
                members = shuffled(members, order);
                *event = object(&members);
            }
            Anomaly::Doubled(event, place) => {
                let event = &events[event % n_events];
                if !is_single(event) {
                    let event = event.clone();
                    events.insert(place % n_events, event);
                }
            }
            Anomaly::Swapped(one, other) => events.swap(one % n_events, other % n_events),
        }
    }
    Ok(format!("{{\"schemaVersion\": 1, \"traceEvents\": [\n{}\n]}}", events.join(",\n")))
}

/// The members of an object, by key.
fn members(object: &str) -> serde_json::Result<Vec<(String, String)>> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(object)?;
    Ok(members.into_iter().map(|(key, value)| (key, value.get().to_owned())).collect())
}

/// The order of which `number` is the number.
fn shuffled<T>(mut items: Vec<T>, mut number: usize) -> Vec<T> {
    let mut shuffled = Vec::new();
    while !items.is_empty() {
        shuffled.push(items.remove(number % items.len()));
        number /= items.len() + 1;
    }
    shuffled
}

fn object(members: &[(String, String)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
    format!("{{{}}}", members.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anomalies_are_what_they_say() {
        let trace = r#"{"traceEvents": [{"a": 1, "args": {"x": 1.50}}, {"b": 2}]}"#;
        let changed = |anomaly| {
            let changed = with_anomalies(trace, &[anomaly], |event| event.contains('b')).unwrap();
            changed.lines().skip(1).take_while(|line| *line != "]}").collect::<Vec<_>>().join("")
        };
        assert_eq!(changed(Anomaly::Args(2, "[]")), r#"{"a": 1, "args": []},{"b": 2}"#);
        assert_eq!(changed(Anomaly::Args(0, "")), r#"{"a": 1},{"b": 2}"#);
        assert_eq!(changed(Anomaly::Keys(0, 1)), r#"{"args": {"x": 1.50}, "a": 1},{"b": 2}"#);
        assert_eq!(changed(Anomaly::Swapped(0, 1)), r#"{"b": 2},{"a": 1, "args": {"x": 1.50}}"#);
        assert_eq!(changed(Anomaly::Doubled(0, 1)).matches("1.50").count(), 2);
        assert_eq!(changed(Anomaly::Doubled(1, 0)).matches('b').count(), 1);
    }

    #[test]
    fn every_order_has_a_number() {
        let orders: std::collections::BTreeSet<Vec<u8>> =
            (0..24).map(|number| shuffled(vec![1, 2, 3, 4], number)).collect();
        assert_eq!(orders.len(), 24);
    }
}
