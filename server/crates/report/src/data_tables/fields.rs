//! The fields of contracts in JSON as values of data tables.

use super::columns::DataValue;
use crate::fields::FieldValue;

/// Times are microseconds, the double next to what JSON has.
pub(super) fn value(field: &FieldValue<'_>) -> DataValue {
    match field {
        FieldValue::Text(text) => DataValue::text(&**text),
        FieldValue::Integer(number) => DataValue::integer(*number),
        FieldValue::Time(time) => DataValue::Real(time.as_f64() / 1000.0),
        FieldValue::Flag(flag) => DataValue::Flag(*flag),
        FieldValue::Unknown => DataValue::Null,
        FieldValue::Json(text) => DataValue::text(&**text),
    }
}
