//! One file for each method (for documents, one for all): unpack, work on a snapshot, pack.

pub(crate) mod cancel_progress;
pub(crate) mod code_action;
pub(crate) mod code_lens;
pub(crate) mod configuration;
pub(crate) mod execute_command;
pub(crate) mod hover;
pub(crate) mod initialize;
pub(crate) mod initialized;
pub(crate) mod inlay_hint;
pub(crate) mod text_document;
pub(crate) mod workspace_folders;
