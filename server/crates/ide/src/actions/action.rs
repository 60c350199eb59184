//! A change of the text.

use crate::diagnostics::Diagnostic;

/// A change of the text that resolves a finding.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// What it does.
    pub title: String,
    /// Whether it removes the cause, rather than the message.
    pub is_fix: bool,
    /// Whether the program does the same afterwards without any condition that the title names.
    pub is_preferred: bool,
    /// In the order of the text; they do not overlap.
    pub edits: Vec<Edit>,
    /// What it is about.
    pub diagnostic: Diagnostic,
}

/// Bytes `start..end` of the text become `text`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
    /// What is there instead.
    pub text: String,
}
