//! How much operators work on: the elements of the tensors that they take.

use profile::{Profile, StrId};
use rustc_hash::FxHashMap;

/// The elements of inputs, by their dimensions as recorded: a training loop has few different ones.
#[derive(Default)]
pub(crate) struct InputElements(FxHashMap<StrId, u64>);

impl InputElements {
    /// How many there are, all tensors together; 0 where shapes are not recorded.
    pub(crate) fn of(&mut self, profile: &Profile, dims: StrId) -> u64 {
        if dims == StrId::NONE {
            return 0;
        }
        *self.0.entry(dims).or_insert_with(|| elements(profile.strings.get(dims)))
    }
}

/// The elements of all tensors in `Input Dims`, the JSON of a list with the dimensions of each tensor (of a list of tensors, such a list
/// again). What has no dimensions is a number, or no tensor at all.
fn elements(json: &str) -> u64 {
    let (mut sum, mut product, mut number) = (0_u64, None::<u64>, None::<u64>);
    for byte in json.bytes() {
        match byte {
            b'0'..=b'9' => {
                let digit = u64::from(byte - b'0');
                number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(digit));
            }
            b',' | b']' => {
                if let Some(size) = number.take() {
                    product = Some(product.unwrap_or(1).saturating_mul(size));
                }
                if byte == b']' {
                    sum = sum.saturating_add(product.take().unwrap_or(0));
                }
            }
            _ => {}
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::elements;

    #[test]
    fn tensors_are_added_up() {
        let rows = [
            ("[[2, 3], [], [4]]", 10),
            ("[[[2, 3], [5]], []]", 11),
            ("[]", 0),
            ("[[0, 7], [1]]", 1),
            ("[[99999999999999999999, 2]]", u64::MAX),
            ("not a list", 0),
        ];
        for (json, expected) in rows {
            assert_eq!(elements(json), expected, "{json}");
        }
    }
}
