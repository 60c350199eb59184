//! Numbers as text.

use ledger::{Metric, Ns};

/// A duration with three significant digits and the unit that fits.
pub(crate) fn duration(ns: Ns) -> String {
    scaled(ns as f64, 1000.0, &["ns", "µs", "ms", "s"])
}

/// A size with three significant digits and the unit that fits.
pub(crate) fn bytes(bytes: i64) -> String {
    scaled(bytes as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"])
}

/// A share of 1 as a percentage.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}

/// A count; a mean count may have a fraction.
pub(crate) fn count(count: f64) -> String {
    if count < 10_000.0 { digits(count) } else { scaled(count, 1000.0, &["", "k", "M", "G"]) }
}

fn scaled(value: f64, base: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut unit = 0;
    while unit + 1 < units.len() && 999.5 <= value.abs() {
        value /= base;
        unit += 1;
    }
    format!("{} {}", digits(value), units[unit]).trim_end().to_owned()
}

fn digits(value: f64) -> String {
    let places = match value.abs() {
        it if it == it.trunc() && it < 10.0 => 0,
        it if it < 9.995 => 2,
        it if it < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.places$}")
}

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
        _ => format!("{} µs", micros(amount)),
    }
}

/// What a metric is called.
pub(crate) fn metric(metric: Metric) -> &'static str {
    match metric {
        Metric::Cpu => "CPU time",
        Metric::Cuda => "CUDA time",
        Metric::GpuIdle => "GPU idle time",
        Metric::Sync => "waits",
        Metric::Alloc => "allocated bytes",
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
