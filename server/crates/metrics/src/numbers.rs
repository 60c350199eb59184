//! Numbers as text: three significant digits, without zeros that say nothing, and the unit that fits.

use std::fmt::Write;

use ledger::{Ns, Unit};

/// `value` as text, with its unit. Rates are written as amounts: what they are a rate of says the rest.
#[must_use]
pub fn text(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ns => duration(value),
        Unit::Bytes | Unit::BytesPerSecond => bytes(value),
        Unit::Flops | Unit::FlopsPerSecond => flops(value),
        Unit::Share => percent(value),
        Unit::Count | Unit::EventsPerSecond | Unit::FlopsPerByte => count(value),
    }
}

/// A duration of `ns` nanoseconds: `6.3 ms`.
#[must_use]
pub fn duration(ns: f64) -> String {
    scaled(ns, 1000.0, &[" ns", " µs", " ms", " s"])
}

/// A size of `bytes` bytes: `1.5 GiB`.
#[must_use]
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, 1024.0, &[" B", " KiB", " MiB", " GiB", " TiB"])
}

/// Floating-point operations, or as many per second: `1.5 T`.
#[must_use]
pub fn flops(flops: f64) -> String {
    scaled(flops, 1000.0, &["", " k", " M", " G", " T", " P", " E"])
}

/// A share of 1: `38 %`. Hundredths of a percent are as fine as anybody needs.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 0.995 {
        return format!("{} %", trimmed(&format!("{percent:.2}")));
    }
    format!("{} %", digits(percent))
}

/// A count, or a mean of counts: `412`, `3.33`, `12.3k`.
#[must_use]
pub fn count(count: f64) -> String {
    if count.abs() < 9_999.5 {
        let places = if count.abs() < 99.95 { 2 } else { 0 };
        return trimmed(&format!("{count:.places$}")).to_owned();
    }
    scaled(count / 1000.0, 1000.0, &["k", "M", "G"])
}

/// A time as decimal microseconds, exactly and without a unit: `123.456`.
#[must_use]
pub fn microseconds(ns: Ns) -> String {
    let mut text = String::new();
    push_microseconds(&mut text, ns);
    text
}

/// Appends [`microseconds`] to `text`.
pub fn push_microseconds(text: &mut String, Ns(ns): Ns) {
    let sign = if ns < 0 { "-" } else { "" };
    let (whole, rest) = (ns.unsigned_abs() / 1000, ns.unsigned_abs() % 1000);
    // Writing to a string cannot fail.
    let _ = write!(text, "{sign}{whole}");
    if rest != 0 {
        let _ = write!(text, ".{rest:03}");
        text.truncate(text.trim_end_matches('0').len());
    }
}

fn scaled(value: f64, base: f64, units: &[&str]) -> String {
    let (mut value, mut unit) = (value, 0);
    // What would be rounded to 1000 belongs to the next unit.
    while unit + 1 < units.len() && 999.5 <= value.abs() {
        value /= base;
        unit += 1;
    }
    if value == 0.0 { "0".to_owned() } else { format!("{}{}", digits(value), units[unit]) }
}

/// Three significant digits in plain notation.
fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    // The exponent after rounding: 9.999 has three digits as 10.0.
    let rounded = format!("{value:.2e}");
    let exponent = rounded.split_once('e').and_then(|(_, it)| it.parse::<i32>().ok()).unwrap_or(0);
    let places = usize::try_from(2 - exponent).unwrap_or(0);
    let text = format!("{value:.places$}");
    trimmed(&text).to_owned()
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let rows = [
            (0.0, "0"),
            (1.0, "1 ns"),
            (999.4, "999 ns"),
            (999.5, "1 µs"),
            (1_234.0, "1.23 µs"),
            (9_996.0, "10 µs"),
            (99_940.0, "99.9 µs"),
            (99_960.0, "100 µs"),
            (999_499.0, "999 µs"),
            (999_500.0, "1 ms"),
            (6_300_000.0, "6.3 ms"),
            (11_000_000.0, "11 ms"),
            (6_304_000.0, "6.3 ms"),
            (12_345_678_900.0, "12.3 s"),
            (-4_810_000.0, "-4.81 ms"),
            (3.6e12, "3600 s"),
        ];
        for (ns, text) in rows {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn sizes() {
        let rows = [
            (0.0, "0"),
            (512.0, "512 B"),
            (999.0, "999 B"),
            (1_000.0, "0.977 KiB"),
            (1_024.0, "1 KiB"),
            (1_536.0, "1.5 KiB"),
            (1_048_000.0, "0.999 MiB"),
            (3.5 * 1_073_741_824.0, "3.5 GiB"),
            (2_199_023_255_552.0, "2 TiB"),
        ];
        for (size, text) in rows {
            assert_eq!(bytes(size), text);
        }
    }

    #[test]
    fn shares_and_counts() {
        let rows =
            [(0.38, "38 %"), (1.0, "100 %"), (0.005, "0.5 %"), (0.000_456, "0.05 %"), (0.0, "0 %")];
        for (share, text) in rows {
            assert_eq!(percent(share), text);
        }
        let rows = [
            (0.0, "0"),
            (10.0, "10"),
            (3.333, "3.33"),
            (1_234.0, "1234"),
            (9_999.4, "9999"),
            (12_345.0, "12.3k"),
            (1e6, "1M"),
        ];
        for (number, text) in rows {
            assert_eq!(count(number), text);
        }
    }

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
            assert_eq!(microseconds(Ns(ns)), text);
        }
    }
}
