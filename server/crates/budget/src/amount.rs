//! Amounts with units: `"450 ms"`, `"70 GiB"`, `"5 %"`, `3`.

use metrics::{Unit, numbers};
use toml::de::DeValue;

/// What is allowed at most of a quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Allowed {
    /// An amount: nanoseconds, bytes or a number, by the unit of the quantity.
    Amount(f64),
    /// A share (of 1) of what shares of the quantity are shares of.
    Share(f64),
}

impl Allowed {
    /// As text, where an amount is of `unit`: `4.5 ms`, `5 %`.
    #[must_use]
    pub fn text(self, unit: Unit) -> String {
        match self {
            Self::Amount(amount) => numbers::text(amount, unit),
            Self::Share(share) => numbers::percent(share),
        }
    }
}

/// What is allowed at most of findings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AllowedFindings {
    /// How many.
    Count(u32),
    /// What they cost together per step, in nanoseconds.
    Cost(f64),
}

const TIME: &str = "a time as in \"4.5 ms\" (ns, us, ms, s)";
const SHARE: &str = "a share as in \"5 %\"";
const COUNT: &str = "a whole number as in 3";
const SIZE: &str = "a size as in \"1.5 GiB\" (B, KiB, MiB, GiB, TiB, kB, MB, GB, TB)";

/// A time, in nanoseconds.
pub(crate) fn time(value: &DeValue<'_>) -> Result<f64, String> {
    nothing(value).or_else(|| measure(value, nanoseconds)).ok_or_else(|| wrong(value, TIME))
}

/// A share, of 1.
pub(crate) fn share(value: &DeValue<'_>) -> Result<f64, String> {
    nothing(value).or_else(|| measure(value, hundredths)).ok_or_else(|| wrong(value, SHARE))
}

/// A number of things.
pub(crate) fn count(value: &DeValue<'_>) -> Result<u32, String> {
    whole(value).ok_or_else(|| wrong(value, COUNT))
}

/// A number of findings, or what they cost.
pub(crate) fn findings(value: &DeValue<'_>) -> Result<AllowedFindings, String> {
    let count = whole(value).map(AllowedFindings::Count);
    let cost = || measure(value, nanoseconds).map(AllowedFindings::Cost);
    count.or_else(cost).ok_or_else(|| wrong(value, &format!("{COUNT} or {TIME}")))
}

/// What is allowed of a quantity with a unit.
pub(crate) fn of_unit(unit: Unit, value: &DeValue<'_>) -> Result<Allowed, String> {
    let (scale, expected): (fn(&str) -> Option<f64>, &str) = match unit {
        Unit::Ns => (nanoseconds, TIME),
        Unit::Bytes => (bytes, SIZE),
        _ => return count(value).map(|it| Allowed::Amount(f64::from(it))),
    };
    let amount = nothing(value).or_else(|| measure(value, scale)).map(Allowed::Amount);
    let share = || measure(value, hundredths).map(Allowed::Share);
    amount.or_else(share).ok_or_else(|| wrong(value, &format!("{expected} or {SHARE}")))
}

/// Nothing needs no unit.
fn nothing(value: &DeValue<'_>) -> Option<f64> {
    whole(value).filter(|it| *it == 0).map(f64::from)
}

fn whole(value: &DeValue<'_>) -> Option<u32> {
    let number = value.as_integer()?;
    u32::from_str_radix(number.as_str(), number.radix()).ok()
}

/// A text with a number that is not negative and a unit: the number times what `scale` says of the unit.
fn measure(value: &DeValue<'_>, scale: fn(&str) -> Option<f64>) -> Option<f64> {
    let text = value.as_str()?.trim();
    let end = text.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some(number.parse::<f64>().ok()? * scale(unit.trim_start())?)
}

fn nanoseconds(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1.0),
        // The micro sign and the Greek letter.
        "us" | "\u{b5}s" | "\u{3bc}s" => Some(1e3),
        "ms" => Some(1e6),
        "s" => Some(1e9),
        _ => None,
    }
}

fn bytes(unit: &str) -> Option<f64> {
    const KIB: f64 = 1024.0;
    match unit {
        "B" => Some(1.0),
        "kB" => Some(1e3),
        "MB" => Some(1e6),
        "GB" => Some(1e9),
        "TB" => Some(1e12),
        "KiB" => Some(KIB),
        "MiB" => Some(KIB * KIB),
        "GiB" => Some(KIB * KIB * KIB),
        "TiB" => Some(KIB * KIB * KIB * KIB),
        _ => None,
    }
}

fn hundredths(unit: &str) -> Option<f64> {
    (unit == "%").then_some(0.01)
}

fn wrong(value: &DeValue<'_>, expected: &str) -> String {
    let found = match value {
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::String(text) => format!("`{text}`"),
        other => format!("a value of type {}", other.type_str()),
    };
    format!("expected {expected}, found {found}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T>(reader: fn(&DeValue<'_>) -> Result<T, String>, text: &str) -> Result<T, String> {
        reader(DeValue::parse(text).unwrap().get_ref())
    }

    #[test]
    fn amounts_have_a_unit() {
        assert_eq!(read(time, "'450 ms'"), Ok(450e6));
        assert_eq!(read(time, "'1.5us'"), Ok(1500.0));
        assert_eq!(read(share, "'2.5 %'"), Ok(0.025));
        assert_eq!(read(count, "3"), Ok(3));
        assert_eq!(read(findings, "3"), Ok(AllowedFindings::Count(3)));
        assert_eq!(read(findings, "'1 s'"), Ok(AllowedFindings::Cost(1e9)));
        let size = |it: &DeValue<'_>| of_unit(Unit::Bytes, it);
        assert_eq!(read(size, "'1.5 KiB'"), Ok(Allowed::Amount(1536.0)));
        assert_eq!(read(size, "'70 GB'"), Ok(Allowed::Amount(70e9)));
        assert_eq!(read(size, "'5 %'"), Ok(Allowed::Share(0.05)));
        assert_eq!(read(size, "0"), Ok(Allowed::Amount(0.0)));
        assert_eq!(read(|it| of_unit(Unit::Count, it), "7"), Ok(Allowed::Amount(7.0)));
        assert_eq!((read(time, "0"), read(share, "0")), (Ok(0.0), Ok(0.0)));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_is_expected() {
        let expected = "expected a time as in \"4.5 ms\" (ns, us, ms, s), found ";
        for (value, found) in [
            ("'450'", "`450`"),
            ("'5 %'", "`5 %`"),
            ("'-1 ms'", "`-1 ms`"),
            ("'1.2.3 ms'", "`1.2.3 ms`"),
            ("'1 GiB'", "`1 GiB`"),
            ("450", "450"),
            ("1.5", "1.5"),
            ("true", "a value of type boolean"),
        ] {
            assert_eq!(read(time, value), Err(format!("{expected}{found}")));
        }
        assert!(read(count, "-1").is_err());
        assert!(read(count, "'3'").is_err());
    }
}
