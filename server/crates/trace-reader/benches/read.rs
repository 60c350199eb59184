//! How fast a trace is read, beside what only parses its JSON: `simd-json` to its tape, `serde_json` to a tree.
//!
//! The text is a recorded trace whose events are repeated until it has [`LEN`] bytes.

#![expect(clippy::disallowed_methods, reason = "the trace is read from disk")]

use std::hint::black_box;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use flate2::read::GzDecoder;
use trace_reader::TraceReader;

/// Far beyond what caches hold.
const LEN: usize = 100 << 20;

/// Pieces as the loader hands them out.
const PIECE: usize = 1 << 20;

fn read(criterion: &mut Criterion) {
    for version in ["torch1.13.1", "torch2.11.0", "torch2.15.0"] {
        let text = repeated(&recorded(version));
        let mut group = criterion.benchmark_group(version);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.sample_size(10).measurement_time(Duration::from_secs(5));
        group.bench_function("trace-reader", |bencher| bencher.iter(|| read_pieces(&text, PIECE)));
        group.bench_function("trace-reader, whole", |bencher| {
            bencher.iter(|| read_pieces(&text, text.len()))
        });
        // It parses in place, so each run needs a copy, which is not measured.
        group.bench_function("simd-json", |bencher| {
            let parse = |mut text: Vec<u8>| {
                let length = simd_json::to_tape(&mut text).map_or(0, |tape| tape.0.len());
                black_box(length);
                text
            };
            bencher.iter_batched(|| text.clone(), parse, BatchSize::PerIteration);
        });
        group.bench_function("serde_json", |bencher| {
            bencher.iter(|| serde_json::from_slice::<serde_json::Value>(black_box(&text)).is_ok());
        });
        group.finish();
    }
}

fn read_pieces(text: &[u8], len: usize) -> u64 {
    let mut reader = TraceReader::new();
    black_box(text).chunks(len).for_each(|it| reader.feed(it));
    black_box(reader.finish()).events
}

fn recorded(version: &str) -> String {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fixtures/cpu");
    let path = fixtures.join(version).join("transformer.json.gz");
    let mut text = String::new();
    let read =
        std::fs::File::open(&path).and_then(|file| GzDecoder::new(file).read_to_string(&mut text));
    if let Err(error) = read {
        panic!("{}: {error}", path.display());
    }
    text
}

fn repeated(trace: &str) -> Vec<u8> {
    const KEY: &str = "\"traceEvents\": [";
    let (head, rest) = trace.split_once(KEY).unwrap_or_default();
    let (events, tail) = rest.rsplit_once(']').unwrap_or_default();
    let n_times = LEN / events.len() + 1;
    format!("{head}{KEY}{}]{tail}", vec![events; n_times].join(",")).into_bytes()
}

criterion_group!(benches, read);
criterion_main!(benches);
