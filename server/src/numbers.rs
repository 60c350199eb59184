//! Numbers as text.

use ledger::{Metric, Ns};

/// A duration, as everywhere in Perfline.
pub(crate) fn duration(ns: Ns) -> String {
    metrics::numbers::duration(ns as f64)
}

/// A size, as everywhere in Perfline.
pub(crate) fn bytes(bytes: i64) -> String {
    metrics::numbers::bytes(bytes as f64)
}

pub(crate) use metrics::numbers::{count, percent};

/// Integer nanoseconds as decimal microseconds, exactly: a number of `perfline.lines/1`.
pub(crate) fn micros(ns: Ns) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let (whole, rest) = (ns.unsigned_abs() / 1000, ns.unsigned_abs() % 1000);
    if rest == 0 {
        return format!("{sign}{whole}");
    }
    format!("{sign}{whole}.{}", format!("{rest:03}").trim_end_matches('0'))
}

/// An amount of the books to its last digit, with its unit.
pub(crate) fn exact(metric: Metric, amount: i64) -> String {
    match metric {
        Metric::Alloc => format!("{amount} B"),
        Metric::Flops => amount.to_string(),
        _ => format!("{} µs", micros(amount)),
    }
}

/// What a metric is called.
pub(crate) fn metric(metric: Metric) -> &'static str {
    match metric {
        Metric::Cpu => "thread time",
        Metric::Cuda => "CUDA time",
        Metric::GpuIdle => "GPU idle time",
        Metric::Sync => "waits for devices",
        Metric::Alloc => "allocated bytes",
        Metric::Comm => "communication",
        Metric::CommExposed => "exposed communication",
        Metric::Flops => "FLOPs",
        Metric::Waiting => "waiting",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_exact_to_the_last_nanosecond() {
        let rows = [
            (0, "0"),
            (1, "0.001"),
            (1_000, "1"),
            (1_500, "1.5"),
            (123_450_000, "123450"),
            (9_007_199_254_740_993, "9007199254740.993"),
            (-1_001, "-1.001"),
            (i64::MAX, "9223372036854775.807"),
        ];
        for (ns, text) in rows {
            assert_eq!(micros(ns), text);
        }
    }
}
