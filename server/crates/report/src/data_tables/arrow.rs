//! Data tables as Apache Arrow: <https://arrow.apache.org/docs/format/Columnar.html>.

use std::collections::HashMap;
use std::io::Write;
use std::iter;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, RecordBatch, StringArray,
    StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};

use super::columns::{DataColumn, DataKind, DataValue, TypedTable};

/// Rows of a batch: what one counts with 32 bits stays far below what they hold.
const BATCH: usize = 1 << 16;

/// Writes the table as a stream of Arrow's IPC format, whose buffers are not compressed: who reads it uses them as they are.
///
/// # Errors
/// If `out` cannot be written.
pub(super) fn write_stream(out: &mut dyn Write, table: &TypedTable) -> Result<(), ArrowError> {
    let schema = Arc::new(schema(table));
    let mut writer = StreamWriter::try_new(out, &schema)?;
    for batch in batches(table, &schema) {
        writer.write(&batch?)?;
    }
    writer.finish()
}

/// The columns, each with its unit and what it means; the name of the table and its notes.
pub(super) fn schema(table: &TypedTable) -> Schema {
    let names = iter::once(("perfline.table", table.name.to_owned()));
    let notes = names.chain(table.notes.iter().cloned());
    let metadata: HashMap<String, String> =
        notes.map(|(name, text)| (name.to_owned(), text)).collect();
    Schema::new_with_metadata(fields(table.columns), metadata)
}

/// The rows, in columns.
pub(super) fn batches(
    table: &TypedTable,
    schema: &Arc<Schema>,
) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> {
    table.rows.chunks(BATCH).map(|rows| {
        let rows: Vec<&[DataValue]> = rows.iter().map(Vec::as_slice).collect();
        RecordBatch::try_new(Arc::clone(schema), arrays(table.columns, &rows)?)
    })
}

fn fields(columns: &[DataColumn]) -> Fields {
    columns.iter().map(field).collect()
}

fn field(column: &DataColumn) -> Field {
    let unit = Some(("unit", column.unit)).filter(|it| !it.1.is_empty());
    let metadata = iter::once(("description", column.about)).chain(unit);
    let metadata: HashMap<String, String> =
        metadata.map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    Field::new(column.name, data_type(column.kind), column.is_nullable).with_metadata(metadata)
}

fn data_type(kind: DataKind) -> DataType {
    match kind {
        DataKind::Text => DataType::Utf8,
        DataKind::Integer => DataType::Int64,
        DataKind::Real => DataType::Float64,
        DataKind::Flag => DataType::Boolean,
        DataKind::Rows(columns) => DataType::List(Arc::new(item(columns))),
    }
}

/// What the lists of a column hold.
fn item(columns: &[DataColumn]) -> Field {
    Field::new("item", DataType::Struct(fields(columns)), false)
}

fn arrays(columns: &[DataColumn], rows: &[&[DataValue]]) -> Result<Vec<ArrayRef>, ArrowError> {
    let column = |(index, column): (usize, &DataColumn)| {
        let values: Vec<&DataValue> =
            rows.iter().map(|row| row.get(index).unwrap_or(&DataValue::Null)).collect();
        array(column.kind, &values)
    };
    columns.iter().enumerate().map(column).collect()
}

/// A value that is of another kind than its column is null, which a column that has none refuses.
fn array(kind: DataKind, values: &[&DataValue]) -> Result<ArrayRef, ArrowError> {
    let values = values.iter().copied();
    Ok(match kind {
        DataKind::Text => {
            let texts = values.map(|it| match it {
                DataValue::Text(text) => Some(text.as_str()),
                _ => None,
            });
            in_32_bits(texts.clone().map(|it| it.map_or(0, str::len)))?;
            Arc::new(texts.collect::<StringArray>())
        }
        DataKind::Integer => Arc::new(
            values
                .map(|it| match it {
                    DataValue::Integer(number) => Some(*number),
                    _ => None,
                })
                .collect::<Int64Array>(),
        ),
        DataKind::Real => Arc::new(
            values
                .map(|it| match it {
                    DataValue::Real(number) => Some(*number),
                    _ => None,
                })
                .collect::<Float64Array>(),
        ),
        DataKind::Flag => Arc::new(
            values
                .map(|it| match it {
                    DataValue::Flag(flag) => Some(*flag),
                    _ => None,
                })
                .collect::<BooleanArray>(),
        ),
        DataKind::Rows(columns) => {
            let lists = values.map(|it| match it {
                DataValue::Rows(rows) => Some(rows.as_slice()),
                _ => None,
            });
            let lengths = lists.clone().map(|it| it.map_or(0, <[_]>::len));
            in_32_bits(lengths.clone())?;
            let nulls: NullBuffer = lists.clone().map(|it| it.is_some()).collect();
            let rows: Vec<&[DataValue]> = lists.flatten().flatten().map(Vec::as_slice).collect();
            let items = StructArray::try_new(fields(columns), arrays(columns, &rows)?, None)?;
            let nulls = Some(nulls).filter(|it| it.null_count() != 0);
            Arc::new(ListArray::try_new(
                Arc::new(item(columns)),
                OffsetBuffer::from_lengths(lengths),
                Arc::new(items),
                nulls,
            )?)
        }
    })
}

/// Refuses what 32 bits cannot count.
fn in_32_bits(lengths: impl Iterator<Item = usize>) -> Result<(), ArrowError> {
    let sum = lengths.fold(0_usize, usize::saturating_add);
    match i32::try_from(sum) {
        Ok(_) => Ok(()),
        Err(_) => {
            Err(ArrowError::InvalidArgumentError("a column has texts of more than 2 GiB".into()))
        }
    }
}
