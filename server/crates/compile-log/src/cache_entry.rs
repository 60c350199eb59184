//! The files that PyTorch keeps of what it compiled: those of AOTAutograd's cache hold the graphs of operations, with the names of what
//! Inductor made of them; those of Inductor's cache hold the name of the generated file.
//!
//! They are pickles of PyTorch's own classes. Nothing in them is run: texts are taken from them by what stands before.

use memchr::memmem;

/// What Inductor calls what it keeps: a letter, `f` of what was made of a graph, `c` of a generated file, and 51 characters of base 32.
const NAME_LENGTH: usize = 52;

/// Attributes that hold graphs, as AOTAutograd printed them.
const GRAPHS: [&[u8]; 2] = [b"aot_forward_graph_str", b"aot_backward_graph_str"];

/// What a file of a cache says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheEntry<'a> {
    /// The texts of graphs.
    pub graphs: Vec<&'a str>,
    /// Names of what Inductor made of them.
    pub compiled: Vec<&'a str>,
    /// Names of generated files, without their ending.
    pub generated: Vec<&'a str>,
}

impl<'a> CacheEntry<'a> {
    /// Reads a file of a cache. What is not there is empty; bytes of another format say nothing.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Self {
        let mut entry = Self::default();
        for name in GRAPHS {
            let value = memmem::find(bytes, name).and_then(|at| text_at(&bytes[at + name.len()..]));
            entry.graphs.extend(value);
        }
        // Names are short texts by themselves: the opcode and the length.
        for at in memmem::find_iter(bytes, &[SHORT_TEXT, NAME_LENGTH as u8]) {
            let Some(name) = text_at(&bytes[at..]).filter(|it| is_name(it)) else { continue };
            match name.as_bytes().first() {
                Some(b'f') => entry.compiled.push(name),
                Some(b'c') => entry.generated.push(name),
                _ => {}
            }
        }
        entry
    }
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|it| matches!(it, b'a'..=b'z' | b'2'..=b'7'))
}

/// `SHORT_BINUNICODE` of Python's pickle: a byte with the length of the text behind it.
const SHORT_TEXT: u8 = 0x8c;

/// The text that a pickle has next, behind what only numbers values and frames; `None` if there is another value.
fn text_at(mut bytes: &[u8]) -> Option<&str> {
    loop {
        let (&opcode, rest) = bytes.split_first()?;
        let (n_bytes, rest) = match opcode {
            // MEMOIZE, BINPUT, LONG_BINPUT, FRAME
            0x94 => (0, rest),
            b'q' => (1, rest),
            b'r' => (4, rest),
            0x95 => (8, rest),
            SHORT_TEXT => return text(rest.split_first_chunk::<1>()?.0, &rest[1..]),
            // BINUNICODE, BINUNICODE8
            b'X' => return text(rest.split_first_chunk::<4>()?.0, &rest[4..]),
            0x8d => return text(rest.split_first_chunk::<8>()?.0, &rest[8..]),
            _ => return None,
        };
        bytes = rest.get(n_bytes..)?;
    }
}

/// The text at the begin of `bytes` of a length in little-endian order.
fn text<'a>(length: &[u8], bytes: &'a [u8]) -> Option<&'a str> {
    let length = length.iter().rev().fold(0_u64, |all, &it| (all << 8) | u64::from(it));
    std::str::from_utf8(bytes.get(..usize::try_from(length).ok()?)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_behind_what_numbers_them() {
        let compiled = format!("f{}", "a2".repeat(26)).split_at(52).0.to_owned();
        let generated = format!("c{}", "z7".repeat(26)).split_at(52).0.to_owned();
        let mut bytes = b"\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94(".to_vec();
        for name in [&compiled, &generated, &"A".repeat(52)] {
            bytes.extend([SHORT_TEXT, 52]);
            bytes.extend(name.as_bytes());
            bytes.push(0x94);
        }
        bytes
            .extend(b"\x8c\x15aot_forward_graph_str\x94\x95\x10\0\0\0\0\0\0\0X\x05\0\0\0a = b\x94");
        bytes.extend(b"\x8c\x16aot_backward_graph_str\x94Nu.");
        let entry = CacheEntry::read(&bytes);
        assert_eq!(entry.graphs, ["a = b"]);
        assert_eq!(entry.compiled, [compiled.as_str()]);
        assert_eq!(entry.generated, [generated.as_str()]);
        for end in 0..bytes.len() {
            let part = CacheEntry::read(&bytes[..end]);
            assert!(part.graphs.len() <= 1 && part.compiled.len() <= 1);
        }
        assert_eq!(CacheEntry::read(b""), CacheEntry::default());
    }
}
