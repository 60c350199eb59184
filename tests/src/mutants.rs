//! Random faults in the structure of recordings: what a writer that was interrupted, a version that nobody has seen, or
//! somebody with bad intentions leaves. A fault changes an event, a member or an opcode, seldom a byte, so that it gets past
//! the scanner to what believes it.

use serde_json::value::RawValue;

use crate::random::Random;

/// Values that may stand in place of any other.
const UNUSUAL: [&str; 30] = [
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "0",
    "-0",
    "-1",
    "1",
    "2",
    "7",
    "0.001",
    "-0.5",
    "1e3",
    "1E-400",
    "1e400",
    "-1e400",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551616",
    "\"12\"",
    "\"soon\"",
    "\"\\ud83d\"",
    "\"a\\nb\\u0000\\u001b[31m\"",
    "[[[[[[[[[[]]]]]]]]]]",
    "{\"name\": {\"name\": [null, {\"ph\": \"X\"}]}}",
];

/// Texts that mean something in a trace.
const WORDS: [&str; 22] = [
    "X",
    "B",
    "E",
    "i",
    "s",
    "f",
    "M",
    "C",
    "cpu_op",
    "python_function",
    "cuda_runtime",
    "kernel",
    "gpu_memcpy",
    "ac2g",
    "fwdbwd",
    "ProfilerStep#3",
    "[memory]",
    "nn.Module: Linear_0",
    "<built-in method run_backward of torch._C._EngineBase object at 0x7f>",
    "Iteration Start: PyTorch Profiler",
    "process_name",
    "torch/autograd/__init__.py(200): backward",
];

/// Names of members that a reader looks for.
const KEYS: [&str; 24] = [
    "ph",
    "cat",
    "name",
    "ts",
    "dur",
    "pid",
    "tid",
    "id",
    "bp",
    "args",
    "External id",
    "correlation",
    "Python id",
    "Python parent id",
    "Python thread",
    "Call stack",
    "CallFrom",
    "Sequence number",
    "Fwd thread id",
    "stream",
    "device",
    "Bytes",
    "Addr",
    "traceEvents",
];

/// The members of a JSON object with the text of their values, in their order, doubled keys included.
type Members = Vec<(String, String)>;

/// A trace as the texts of its events, and of what else is at its top.
#[derive(Debug, Clone)]
pub struct TraceParts {
    top: Members,
    events: Vec<String>,
}

impl TraceParts {
    /// The parts of a trace whose top level is an object.
    ///
    /// # Errors
    /// If the text is no such trace.
    pub fn of(trace: &str) -> serde_json::Result<Self> {
        let mut top = members(trace)?;
        let mut events = Vec::new();
        if let Some(place) = top.iter().position(|(key, _)| key == "traceEvents") {
            let list = top.remove(place).1;
            let list: Vec<&RawValue> = serde_json::from_str(&list)?;
            events = list.iter().map(|it| it.get().to_owned()).collect();
        }
        Ok(Self { top, events })
    }

    /// A part of the trace with faults.
    #[must_use]
    pub fn mutant(&self, random: &mut Random) -> Vec<u8> {
        // A small part, so that many mutants take little time, and one event in it is of weight.
        let longest = if random.once_in(8) { 4000 } else { 300 };
        let mut events = self.events[random.range(self.events.len(), longest)].to_vec();
        // What names processes and steps is seldom in that part.
        let spread = self.events.len() / 40 + 1;
        events.extend(self.events.iter().skip(random.below(spread)).step_by(spread).cloned());
        let mut top = self.top.clone();
        for _ in 0..=random.below(8) {
            mutate_events(&mut events, random);
        }
        if random.once_in(4) {
            mutate_members(&mut top, &[], random);
        }
        let list = format!("[{}]", events.join(", "));
        top.insert(random.below(top.len() + 1), ("traceEvents".to_owned(), list));
        let text = if random.once_in(16) { top.swap_remove(0).1 } else { object(&top) };
        let mut bytes = text.into_bytes();
        if random.once_in(4) {
            mutate_bytes(&mut bytes, random);
        }
        bytes
    }
}

/// A JSON text with faults in its objects and lists, at any depth.
#[must_use]
pub fn json_mutant(text: &str, random: &mut Random) -> Vec<u8> {
    let mut text = text.to_owned();
    for _ in 0..=random.below(6) {
        text = mutated_value(&text, random);
    }
    let mut bytes = text.into_bytes();
    if random.once_in(3) {
        mutate_bytes(&mut bytes, random);
    }
    bytes
}

/// Lines with faults: some are gone, doubled, in another order, or are JSON with faults; what is no JSON has faulty bytes.
#[must_use]
pub fn lines_mutant(text: &str, random: &mut Random) -> Vec<u8> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=random.below(6) {
        let place = random.below(lines.len());
        match random.below(4) {
            0 => drop(lines.drain(random.range(lines.len(), 20))),
            1 => repeat(&mut lines, random),
            2 => swap(&mut lines, random),
            _ => {
                let Some(line) = lines.get_mut(place) else { continue };
                let start = line.find('{').unwrap_or(0);
                let value = mutated_value(&line[start..], random);
                line.replace_range(start.., &value);
            }
        }
    }
    let mut bytes = lines.join("\n").into_bytes();
    if random.once_in(3) {
        mutate_bytes(&mut bytes, random);
    }
    bytes
}

/// A pickle with faults in its opcodes and their arguments.
#[must_use]
pub fn pickle_mutant(pickle: &[u8], random: &mut Random) -> Vec<u8> {
    let mut opcodes = opcodes(pickle);
    for _ in 0..=random.below(6) {
        let place = random.below(opcodes.len());
        match random.below(6) {
            0 => drop(opcodes.drain(random.range(opcodes.len(), 4))),
            1 => repeat(&mut opcodes, random),
            2 => swap(&mut opcodes, random),
            // Another argument: of 1 to 8 bytes, all ones, all zeros or random.
            3 | 4 => {
                let Some(opcode) = opcodes.get_mut(place) else { continue };
                let fill = [0, 0xff, 0x7f, 0x80][random.below(4)];
                let is_random = random.once_in(2);
                for byte in opcode.iter_mut().skip(1).take(8) {
                    *byte = if is_random { random.bits().to_le_bytes()[0] } else { fill };
                }
            }
            _ => {
                let Some(opcode) = opcodes.get_mut(place).and_then(|it| it.first_mut()) else {
                    continue;
                };
                *opcode = random.of(b"(.0]})tlaesduhjqr\x85\x86\x87\x88\x89\x8f\x90\x91\x93\x94\x95NKMJGXUBcRbOiPQ2").copied().unwrap_or(b'.');
            }
        }
    }
    let mut bytes = opcodes.concat();
    if random.once_in(4) {
        mutate_bytes(&mut bytes, random);
    }
    bytes
}

/// Cuts, deletes, repeats, overwrites or changes bytes.
pub fn mutate_bytes(bytes: &mut Vec<u8>, random: &mut Random) {
    let range = random.range(bytes.len(), 200);
    match random.below(6) {
        0 => bytes.truncate(range.start),
        1 => drop(bytes.drain(range)),
        2 => {
            let piece = bytes[range.clone()].to_vec();
            bytes.splice(range.start..range.start, piece);
        }
        3 => bytes[range].fill(0),
        4 => {
            let value = random.of(&UNUSUAL).copied().unwrap_or_default().bytes();
            bytes.splice(range.start..range.start, value);
        }
        _ => {
            let bit = random.below(8);
            if let Some(byte) = bytes.get_mut(range.start) {
                *byte ^= 1 << bit;
            }
        }
    }
}

fn mutate_events(events: &mut Vec<String>, random: &mut Random) {
    let place = random.below(events.len());
    match random.below(10) {
        0 => drop(events.drain(random.range(events.len(), 20))),
        1 => repeat(events, random),
        2 => swap(events, random),
        3 => {
            let range = random.range(events.len(), 50);
            events[range].reverse();
        }
        _ => {
            let lender = random.of(events).and_then(|it| members(it).ok()).unwrap_or_default();
            let Some(event) = events.get_mut(place) else { return };
            let Ok(mut own) = members(event) else { return };
            mutate_members(&mut own, &lender, random);
            *event = object(&own);
        }
    }
}

/// Changes one member, of the object itself or of one in it; `lender` is another object of that kind.
fn mutate_members(own: &mut Members, lender: &[(String, String)], random: &mut Random) {
    let place = random.below(own.len());
    match random.below(8) {
        0 if !own.is_empty() => drop(own.remove(place)),
        1 => own.extend(random.of(lender).cloned()),
        2 => {
            let key = random.of(&KEYS).copied().unwrap_or_default();
            own.insert(place, (key.to_owned(), unusual_value(random)));
        }
        3 => swap(own, random),
        _ => {
            let Some((key, value)) = own.get_mut(place) else { return };
            let lent = lender.iter().find(|it| it.0 == *key).map(|it| it.1.as_str());
            if value.starts_with('{') && !random.once_in(4) {
                let lent = lent.and_then(|it| members(it).ok()).unwrap_or_default();
                let Ok(mut inner) = members(value) else { return };
                mutate_members(&mut inner, &lent, random);
                *value = object(&inner);
                return;
            }
            *value = match (lent, number(value)) {
                (Some(lent), _) if random.once_in(3) => lent.to_owned(),
                (_, Some(number)) if !random.once_in(3) => other_number(number, random),
                _ => unusual_value(random),
            };
        }
    }
}

/// The value, or one in it, changed.
fn mutated_value(text: &str, random: &mut Random) -> String {
    if let Ok(mut own) = members(text) {
        let lender = own.clone();
        mutate_members(&mut own, &lender, random);
        return object(&own);
    }
    if let Ok(list) = serde_json::from_str::<Vec<&RawValue>>(text) {
        let mut items: Vec<String> = list.iter().map(|it| it.get().to_owned()).collect();
        let place = random.below(items.len());
        match random.below(4) {
            0 => drop(items.drain(random.range(items.len(), 3))),
            1 => repeat(&mut items, random),
            _ => {
                if let Some(item) = items.get_mut(place) {
                    *item = mutated_value(item, random);
                }
            }
        }
        return format!("[{}]", items.join(","));
    }
    match number(text) {
        Some(number) => other_number(number, random),
        None => unusual_value(random),
    }
}

fn repeat<T: Clone>(items: &mut Vec<T>, random: &mut Random) {
    let piece = items[random.range(items.len(), 8)].to_vec();
    let place = random.below(items.len() + 1);
    items.splice(place..place, piece);
}

/// Two items change places.
fn swap<T>(items: &mut [T], random: &mut Random) {
    if !items.is_empty() {
        items.swap(random.below(items.len()), random.below(items.len()));
    }
}

fn unusual_value(random: &mut Random) -> String {
    let word = |random: &mut Random| random.of(&WORDS).map(|it| format!("\"{it}\""));
    let unusual = |random: &mut Random| random.of(&UNUSUAL).map(|it| (*it).to_owned());
    let value = if random.once_in(3) { word(random) } else { unusual(random) };
    value.unwrap_or_default()
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// A number that stands in some relation to this one.
fn other_number(number: f64, random: &mut Random) -> String {
    #[expect(clippy::cast_precision_loss, reason = "any number will do")]
    let few = random.below(2000) as f64 / 1000.0;
    let other = match random.below(7) {
        0 => number + few,
        1 => number - few,
        2 => number + 1000.0 * few,
        3 => number * few,
        4 => -number,
        5 => number * 1e6,
        _ => number / 1e3,
    };
    if random.once_in(2) { format!("{other:.3}") } else { format!("{other:.0}") }
}

fn members(object: &str) -> serde_json::Result<Members> {
    /// Keeps the order and doubled keys, which a map would lose.
    struct InOrder;
    impl<'de> serde::de::Visitor<'de> for InOrder {
        type Value = Members;
        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("an object")
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
            let mut members = Members::new();
            while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                members.push((key, value.get().to_owned()));
            }
            Ok(members)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(object);
    let members = serde::Deserializer::deserialize_map(&mut deserializer, InOrder)?;
    deserializer.end()?;
    Ok(members)
}

fn object(members: &[(String, String)]) -> String {
    let members: Vec<String> = members
        .iter()
        .map(|(key, value)| format!("{}: {value}", serde_json::Value::from(key.as_str())))
        .collect();
    format!("{{{}}}", members.join(", "))
}

/// The opcodes of a pickle with their arguments, by the tables of CPython's `pickletools`; what comes after an unknown one is
/// one piece.
fn opcodes(pickle: &[u8]) -> Vec<Vec<u8>> {
    let mut opcodes = Vec::new();
    let mut rest = pickle;
    while let Some((&opcode, argument)) = rest.split_first() {
        let counted = |n: usize| {
            let length =
                argument.iter().take(n).rev().fold(0_usize, |sum, it| sum << 8 | usize::from(*it));
            n.saturating_add(length)
        };
        let size = match opcode {
            b'K' | b'h' | b'q' | 0x80 | 0x82 => 1,
            b'M' | 0x83 => 2,
            b'J' | b'j' | b'r' | 0x84 => 4,
            b'G' | 0x95 => 8,
            0x8a | 0x8c | b'U' | b'C' => counted(1),
            b'X' | b'B' | b'T' | 0x8b => counted(4),
            0x8d | 0x8e | 0x96 => counted(8),
            b'c' | b'i' | b'I' | b'L' | b'S' | b'V' | b'F' | b'g' | b'p' | b'P' => argument.len(),
            _ => 0,
        };
        let (piece, next) = rest.split_at((1 + size).min(rest.len()));
        opcodes.push(piece.to_vec());
        rest = next;
    }
    opcodes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_taken_apart_and_put_together() {
        let trace = r#"{"a": 1, "traceEvents": [{"ph": "X", "ts": 1.50, "ts": 2}, {}], "b": []}"#;
        let parts = TraceParts::of(trace).unwrap();
        assert_eq!(parts.events, [r#"{"ph": "X", "ts": 1.50, "ts": 2}"#, "{}"]);
        assert_eq!(object(&parts.top), r#"{"a": 1, "b": []}"#);
        assert_eq!(object(&members(&parts.events[0]).unwrap()), parts.events[0]);
    }

    #[test]
    fn the_same_number_makes_the_same_mutant_and_others_make_others() {
        let trace =
            r#"{"traceEvents": [{"ph": "X", "ts": 1.5, "args": {"External id": 4}}, {"ph": "i"}]}"#;
        let parts = TraceParts::of(trace).unwrap();
        let mutant = |seed| parts.mutant(&mut Random::new(seed));
        let mutants: std::collections::BTreeSet<Vec<u8>> = (0..100).map(mutant).collect();
        assert!(mutants.len() > 80, "{}", mutants.len());
        assert_eq!(mutant(7), mutant(7));
    }

    #[test]
    fn a_pickle_is_taken_apart() {
        let pickle =
            b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00]\x94(K\x01\x8c\x02abM\x02\x01e.";
        let opcodes = opcodes(pickle);
        assert_eq!(opcodes.concat(), pickle);
        assert_eq!(opcodes.len(), 10);
    }
}
