//! Pickles of plain data as JSON, for small files of other layouts.

use serde_json::{Map, Number, Value};

use crate::Error;
use crate::machine::{Machine, UnpickledFile};
use crate::values::{Handle, PickleValue};
use profile::Warnings;

/// Deepest value that is converted; what is below is null. Nothing that PyTorch writes comes near.
const DEEPEST: usize = 16;

/// Values that are converted at most, each of some 100 bytes: a file can refer to one list from many places, so that its size says
/// little. A dump of 20,000 collectives with stacks has two million.
const MAX_VALUES: usize = 4 << 20;

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
    let mut budget = MAX_VALUES;
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
