//! Reads what `torch.cuda.graph_annotations.dump_kernel_py_stacks` writes: the Python stack of each node of CUDA graphs.
//!
//! ```text
//! {"17179869185": "/home/me/model.py:6:forward\n/home/me/run.py:13:main"}
//! ```

use profile::{Interner, NodeStacks, OriginFrame};

use crate::envelope::each_member;
use crate::event::Values;
use crate::scan::{self, Scan, Stop};
use crate::text::decode;

/// Whether a file that begins with `prefix` (decompressed) has stacks by node.
#[must_use]
pub fn looks_like_graph_stacks(prefix: &[u8]) -> bool {
    let read = || -> Scan<bool> {
        let (open, at) = scan::significant(prefix, 0)?;
        let (quote, at) = scan::significant(prefix, at + 1)?;
        if (open, quote) != (b'{', b'"') {
            return Err(Stop::Bad(at));
        }
        let (key, value) = scan::key(prefix, at)?;
        let is_number = !key.is_empty() && key.iter().all(u8::is_ascii_digit);
        Ok(is_number && scan::byte(prefix, value)? == b'"')
    };
    read().unwrap_or(false)
}

/// A file of stacks that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("damaged: write it again with dump_kernel_py_stacks")]
pub struct GraphStacksError {
    /// Where in the decompressed text.
    pub offset: usize,
}

/// Reads a whole file of stacks. What is no node or no frame is left out.
///
/// # Errors
/// If the text is no JSON object of texts.
pub fn read_graph_stacks(text: &[u8]) -> Result<NodeStacks, GraphStacksError> {
    let mut anomalies = Vec::new();
    let mut stacks = NodeStacks::default();
    let mut values = Values { buf: text, at: scan::skip_space(text, 0), anomalies: &mut anomalies };
    let read = each_member(&mut values, |key, values| {
        let stack = decode(&values.text()?).text;
        let node = std::str::from_utf8(key).ok().and_then(|it| it.parse().ok());
        let frames = stack.lines().rev();
        let frames: Vec<OriginFrame> =
            frames.filter_map(|it| frame(it, &mut stacks.strings)).collect();
        if let Some(node) = node.filter(|_| !frames.is_empty()) {
            stacks.by_node.insert(node, frames);
        }
        Ok(())
    });
    match read {
        Ok(()) => Ok(stacks),
        Err(Stop::Bad(offset)) => Err(GraphStacksError { offset }),
        Err(Stop::More) => Err(GraphStacksError { offset: text.len() }),
    }
}

/// `file:line:function`. The path may have colons.
fn frame(text: &str, strings: &mut Interner) -> Option<OriginFrame> {
    let (file, line_and_function) = text.rsplit_once(':').and_then(|(rest, function)| {
        let (file, line) = rest.rsplit_once(':')?;
        Some((file, (line, function)))
    })?;
    let (line, function) = line_and_function;
    let line = line.parse().ok().filter(|it| *it > 0 && !file.is_empty())?;
    Some(OriginFrame { file: strings.intern(file), line, function: strings.intern(function) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_read_outermost_first() {
        let text = br#" {"17179869185": "C:\\w\\model.py:6:forward\n/w/run.py:13:main\n?", "x": "a:1:f", "7": ""}"#;
        assert!(looks_like_graph_stacks(text));
        let stacks = read_graph_stacks(text).unwrap();
        let frame = |it: &OriginFrame| {
            format!(
                "{}:{}:{}",
                stacks.strings.get(it.file),
                it.line,
                stacks.strings.get(it.function)
            )
        };
        let found: Vec<_> = stacks
            .by_node
            .iter()
            .map(|(node, stack)| (*node, stack.iter().map(frame).collect::<Vec<_>>()))
            .collect();
        let expected = ["/w/run.py:13:main", r"C:\w\model.py:6:forward"].map(str::to_owned);
        assert_eq!(found, [(17_179_869_185, expected.to_vec())]);
    }

    #[test]
    fn other_files_are_not_taken_for_stacks() {
        for text in [
            &br#"{"traceEvents": []}"#[..],
            br#"{"schema": "perfline.callers/1"}"#,
            br#"{"1": [2]}"#,
            br#"[{"1": "a"}]"#,
            b"{}",
            b"",
        ] {
            assert!(!looks_like_graph_stacks(text), "{text:?}");
        }
        assert!(read_graph_stacks(br#"{"1": "a:1:f""#).is_err());
    }
}
