//! What the profiler does itself while it records.

use line_stacks::{Node, Stacks};
use recorded::PROFILER_FILE;

/// Files whose functions start, step and stop a recording.
const PROFILERS: [&str; 2] = [PROFILER_FILE, "perfline/recorder.py"];

/// By node, whether the profiler itself works there: a call of it is on the stack.
pub(crate) fn recording_stacks(stacks: &Stacks) -> Vec<bool> {
    let is_profiler = |path: &str| {
        let path = path.replace('\\', "/");
        PROFILERS.iter().any(|it| path.ends_with(it))
    };
    let files: Vec<bool> = stacks.lines.files.iter().map(|it| is_profiler(&it.recorded)).collect();
    let mut is_recording = vec![false; stacks.len()];
    if !files.contains(&true) {
        return is_recording;
    }
    for node in stacks.nodes() {
        is_recording[node.index()] =
            is_recording[stacks.parent(node).index()] || is_of(stacks, &files, node);
    }
    is_recording
}

fn is_of(stacks: &Stacks, files: &[bool], node: Node) -> bool {
    let line = stacks.line(node).get();
    line.is_some_and(|line| files[stacks.lines.file_of(line).0 as usize])
}
