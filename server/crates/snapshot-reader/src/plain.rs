//! Pickles of plain data as JSON, for small files of other layouts.

use serde_json::{Map, Number, Value};

use crate::Error;
use crate::machine::{Machine, UnpickledFile};
use crate::values::{Handle, PickleValue};
use profile::Warnings;

/// Deepest value that is converted; what is below is null. Nothing that PyTorch writes comes near.
const DEEPEST: usize = 16;

/// Values that are converted at most, each of some 100 bytes. A dump of 20,000 collectives with stacks has two million.
const MAX_VALUES: usize = 4 << 20;

/// Of these, for each byte of the file, and for any file: it can refer to one list from many places, in two bytes each, as dumps do to
/// frames, of seven values.
const VALUES_OF_BYTE: usize = 16;
const VALUES_OF_ANY: usize = 1 << 16;

/// Bytes of a text that count as one value.
const TEXT: usize = 64;

/// What a pickle of plain data holds.
#[derive(Debug)]
pub struct PlainPickle {
    /// Lists and tuples as arrays, dicts as objects of their keys that are texts or integers; floats, bytes, sets and integers of
    /// more than 64 bits as null.
    pub value: Value,
    /// What ended the reading early; the value holds what was read before.
    pub damage: Option<Error>,
    /// Whether it holds more than is converted; what is too much is left out.
    pub is_cut: bool,
}

/// Reads a pickle of plain data from all of its bytes.
///
/// # Errors
/// If the pickle asks to run code, or is damaged before there is a top-level dict or list.
pub fn read_plain(bytes: &[u8]) -> Result<PlainPickle, Error> {
    let mut warnings = Warnings::default();
    let mut machine = Machine::default();
    machine.feed(bytes, &mut warnings);
    let file = machine.finish(&mut warnings)?;
    let mut budget = MAX_VALUES.min(VALUES_OF_ANY + bytes.len().saturating_mul(VALUES_OF_BYTE));
    let value = json(&file, file.root, DEEPEST, &mut budget);
    Ok(PlainPickle { value, damage: file.damage, is_cut: budget == 0 })
}

fn json(file: &UnpickledFile, handle: Handle, depth: usize, budget: &mut usize) -> Value {
    let (Some(depth), Some(left)) = (depth.checked_sub(1), budget.checked_sub(1)) else {
        return Value::Null;
    };
    *budget = left;
    let values = &file.values;
    match values.get(handle) {
        PickleValue::None | PickleValue::Set | PickleValue::Scalar => Value::Null,
        PickleValue::Bool(it) => Value::Bool(it),
        PickleValue::Int(it) => Value::Number(Number::from(it)),
        PickleValue::Unsigned(it) => Value::Number(Number::from(it)),
        PickleValue::Text(id) => {
            let text = values.texts().get(id);
            *budget = budget.saturating_sub(text.len() / TEXT);
            Value::String(text.to_owned())
        }
        PickleValue::List(items) | PickleValue::Tuple(items) => {
            let mut array = Vec::new();
            for &item in values.runs(items).flatten() {
                if *budget == 0 {
                    break;
                }
                array.push(json(file, item, depth, budget));
            }
            Value::Array(array)
        }
        PickleValue::Dict(pairs) => {
            let mut object = Map::new();
            for (key, value) in values.pairs(pairs) {
                if *budget == 0 {
                    break;
                }
                let key = match values.get(key) {
                    PickleValue::Text(id) => values.texts().get(id).to_owned(),
                    PickleValue::Int(it) => it.to_string(),
                    _ => continue,
                };
                object.insert(key, json(file, value, depth, budget));
            }
            Value::Object(object)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_data_becomes_json() {
        // {"a": [1, -2, None, True, 2.5], 3: ("x",)}
        let bytes = b"\x80\x02}(X\x01\0\0\0a](K\x01J\xfe\xff\xff\xffN\x88G\x40\x04\0\0\0\0\0\0eK\x03X\x01\0\0\0x\x85u.";
        let pickle = read_plain(bytes).unwrap();
        assert_eq!(pickle.value, json!({"a": [1, -2, null, true, null], "3": ["x"]}));
        assert!(pickle.damage.is_none() && !pickle.is_cut);
    }

    #[test]
    fn what_refers_to_itself_ends() {
        // A list whose only item is itself.
        let pickle = read_plain(b"\x80\x02]q\0h\0a.").unwrap();
        let depth = std::iter::successors(Some(&pickle.value), |it| it.get(0)).count();
        assert_eq!(depth, DEEPEST + 1);
    }

    #[test]
    fn a_small_file_does_not_unfold_without_end() {
        // Lists of ten times the list before, eight deep: a hundred million items.
        let mut bytes = b"\x80\x02]q\0(".to_vec();
        bytes.extend(b"K\x01".repeat(10));
        bytes.push(b'e');
        for memo in 1..9 {
            bytes.extend([b']', b'q', memo, b'(']);
            bytes.extend([b'h', memo - 1].repeat(10));
            bytes.push(b'e');
        }
        bytes.push(b'.');
        let pickle = read_plain(&bytes).unwrap();
        assert!(pickle.is_cut);
    }
}
