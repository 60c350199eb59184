//! A row for each stack, in columns: <https://parquet.apache.org/docs/file-format/>.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::Compression;
use ::parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::parser::parse_message_type;
use ledger::{Metric, Unit};
use loader::StackBooks;

use super::names::ExportedStacks;
use super::rows::{StackTableRow, rows};
use crate::terminal::clean;

/// Rows of a row group, which a reader takes into memory as a whole.
const GROUP: usize = 1 << 17;

/// Writes the stacks with any amount, those of the metric first, in its order. Times are in nanoseconds.
pub(super) fn write(out: &mut dyn Write, stacks: &ExportedStacks<'_>) -> io::Result<()> {
    // The file ends with where its parts are, so that it is made whole before anything is written.
    let bytes = file(stacks).map_err(io::Error::other)?;
    out.write_all(&bytes)
}

fn file(stacks: &ExportedStacks<'_>) -> Result<Vec<u8>, ParquetError> {
    let metrics = StackBooks::METRICS;
    let amounts: String =
        metrics.iter().map(|it| format!("required int64 {};", column_name(*it))).collect();
    let schema = format!(
        "message stacks {{ required binary stack (STRING); optional binary leaf (STRING); \
         optional binary function (STRING); optional binary file (STRING); optional int32 line; \
         optional binary evidence (STRING); {amounts} }}"
    );
    let schema = Arc::new(parse_message_type(&schema)?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::GZIP(Default::default()))
        .set_created_by(concat!("perfline ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut all = rows(stacks);
    loop {
        let rows: Vec<StackTableRow<'_>> = all.by_ref().take(GROUP).collect();
        if rows.is_empty() {
            break;
        }
        let mut group = writer.next_row_group()?;
        let stack: Vec<ByteArray> =
            rows.iter().map(|it| it.stack.clone().into_bytes().into()).collect();
        next_column(&mut group, |column| {
            column.typed::<ByteArrayType>().write_batch(&stack, None, None)
        })?;
        optional_text(&mut group, &rows, |it| it.leaf)?;
        optional_text(&mut group, &rows, |it| it.line.map(|it| it.function))?;
        optional_text(&mut group, &rows, |it| it.line.map(|it| it.file))?;
        let number =
            |it: &StackTableRow<'_>| it.line.map(|it| i32::try_from(it.number).unwrap_or(i32::MAX));
        let numbers: Vec<i32> = rows.iter().filter_map(number).collect();
        let levels: Vec<i16> = rows.iter().map(|it| i16::from(it.line.is_some())).collect();
        next_column(&mut group, |column| {
            column.typed::<Int32Type>().write_batch(&numbers, Some(&levels), None)
        })?;
        optional_text(&mut group, &rows, |it| it.line.map(|it| it.evidence.name()))?;
        for metric in metrics {
            let amounts: Vec<i64> =
                rows.iter().map(|it| stacks.books.amount(metric, it.row)).collect();
            next_column(&mut group, |column| {
                column.typed::<Int64Type>().write_batch(&amounts, None, None)
            })?;
        }
        group.close()?;
    }
    writer.into_inner()
}

/// `cpu_ns`, `alloc_bytes`.
fn column_name(metric: Metric) -> String {
    format!("{}_{}", metric.id(), if metric.unit() == Unit::Ns { "ns" } else { "bytes" })
}

type ColumnWriter<'a> = ::parquet::file::writer::SerializedColumnWriter<'a>;

/// Writes the next column of a row group.
fn next_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    write: impl FnOnce(&mut ColumnWriter<'_>) -> Result<usize, ParquetError>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has too few columns".to_owned());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    write(&mut column)?;
    column.close()
}

/// Writes a column of texts, of which some rows have none. What a terminal would obey is replaced, as in CSV: programs that read
/// the file print names as they are.
fn optional_text<'a, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[StackTableRow<'a>],
    text: impl Fn(&StackTableRow<'a>) -> Option<&'a str>,
) -> Result<(), ParquetError> {
    let values = rows.iter().filter_map(&text);
    let values: Vec<ByteArray> = values.map(|it| clean(it).as_bytes().to_vec().into()).collect();
    let levels: Vec<i16> = rows.iter().map(|it| i16::from(text(it).is_some())).collect();
    next_column(group, |column| {
        column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)
    })
}
