//! Data tables in columns, compressed: <https://parquet.apache.org/docs/file-format/>.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::Compression;
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;

use crate::data_tables::{DataColumn, DataKind, DataValue, TypedTable};

/// Rows of a row group, which a reader takes into memory as a whole.
const GROUP: usize = 1 << 17;

/// Writes a table with what it says of itself.
pub(super) fn write(out: &mut dyn Write, table: &TypedTable) -> io::Result<()> {
    // The file ends with where its parts are, so that it is made whole before anything is written.
    let bytes = file(table).map_err(io::Error::other)?;
    out.write_all(&bytes)
}

fn file(table: &TypedTable) -> Result<Vec<u8>, ParquetError> {
    let schema = format!("message {} {{ {} }}", table.name, fields(table.columns));
    let schema = Arc::new(parse_message_type(&schema)?);
    let notes =
        table.notes.iter().map(|(name, text)| KeyValue::new((*name).to_owned(), text.clone()));
    let properties = WriterProperties::builder()
        .set_compression(Compression::GZIP(Default::default()))
        .set_created_by(concat!("perfline ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(notes.collect()))
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    for rows in table.rows.chunks(GROUP) {
        let mut group = writer.next_row_group()?;
        for (index, column) in table.columns.iter().enumerate() {
            let values = rows.iter().map(|row| row.get(index).unwrap_or(&DataValue::Null));
            write_column(&mut group, column, values.collect())?;
        }
        group.close()?;
    }
    writer.into_inner()
}

/// The columns in the language of Parquet's schemas.
fn fields(columns: &[DataColumn]) -> String {
    let field = |it: &DataColumn| {
        let need = if it.is_nullable { "optional" } else { "required" };
        let name = it.name;
        match it.kind {
            DataKind::Text => format!("{need} binary {name} (STRING);"),
            DataKind::Integer => format!("{need} int64 {name};"),
            DataKind::Real => format!("{need} double {name};"),
            DataKind::Flag => format!("{need} boolean {name};"),
            DataKind::Rows(columns) => format!(
                "{need} group {name} (LIST) {{ repeated group list {{ required group element {{ {} }} }} }}",
                fields(columns)
            ),
        }
    };
    columns.iter().map(field).collect()
}

/// The values of a column with how deep each is: `definition` counts what is there of that which may be missing (an optional list, its
/// items, an optional value), `repetition` is 0 where a row begins.
#[derive(Default)]
struct LeafColumn<'a> {
    values: Vec<&'a DataValue>,
    definition: Vec<i16>,
    repetition: Option<Vec<i16>>,
}

impl<'a> LeafColumn<'a> {
    /// A value behind `depth` things that are there.
    fn push(&mut self, column: &DataColumn, value: &'a DataValue, depth: i16) {
        let is_there = *value != DataValue::Null;
        if is_there {
            self.values.push(value);
        }
        self.definition.push(depth + i16::from(column.is_nullable && is_there));
    }
}

/// Writes a column, or those of the lists in it.
fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &DataColumn,
    values: Vec<&DataValue>,
) -> Result<(), ParquetError> {
    let DataKind::Rows(columns) = column.kind else {
        let mut leaf = LeafColumn::default();
        values.into_iter().for_each(|it| leaf.push(column, it, 0));
        return write_leaf(group, column, &leaf);
    };
    let list = i16::from(column.is_nullable);
    for (index, item) in columns.iter().enumerate() {
        let mut leaf = LeafColumn::default();
        let mut repetition = Vec::new();
        for value in &values {
            let rows = match value {
                DataValue::Rows(rows) => rows.as_slice(),
                _ => &[],
            };
            if rows.is_empty() {
                leaf.definition.push(if **value == DataValue::Null { 0 } else { list });
                repetition.push(0);
            }
            for (place, row) in rows.iter().enumerate() {
                leaf.push(item, row.get(index).unwrap_or(&DataValue::Null), list + 1);
                repetition.push(i16::from(place != 0));
            }
        }
        leaf.repetition = Some(repetition);
        write_leaf(group, item, &leaf)?;
    }
    Ok(())
}

/// A value that is of another kind than its column is left out, which the writer refuses.
fn write_leaf<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    column: &DataColumn,
    leaf: &LeafColumn<'_>,
) -> Result<(), ParquetError> {
    let values = leaf.values.iter().copied();
    match column.kind {
        DataKind::Text => {
            let texts = values.filter_map(|it| match it {
                DataValue::Text(text) => Some(ByteArray::from(text.as_bytes().to_vec())),
                _ => None,
            });
            write_values::<ByteArrayType, W>(group, &texts.collect::<Vec<_>>(), leaf)
        }
        DataKind::Integer => {
            let numbers = values.filter_map(|it| match it {
                DataValue::Integer(number) => Some(*number),
                _ => None,
            });
            write_values::<Int64Type, W>(group, &numbers.collect::<Vec<_>>(), leaf)
        }
        DataKind::Real => {
            let numbers = values.filter_map(|it| match it {
                DataValue::Real(number) => Some(*number),
                _ => None,
            });
            write_values::<DoubleType, W>(group, &numbers.collect::<Vec<_>>(), leaf)
        }
        DataKind::Flag => {
            let flags = values.filter_map(|it| match it {
                DataValue::Flag(flag) => Some(*flag),
                _ => None,
            });
            write_values::<BoolType, W>(group, &flags.collect::<Vec<_>>(), leaf)
        }
        DataKind::Rows(_) => Err(ParquetError::General("lists within lists".to_owned())),
    }
}

/// Writes the next column of a row group.
fn write_values<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    leaf: &LeafColumn<'_>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has too few columns".to_owned());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    let repetition = leaf.repetition.as_deref();
    column.typed::<T>().write_batch(values, Some(&leaf.definition), repetition)?;
    column.close()
}
