//! Stack for walks over deep syntax trees: texts may nest deeper than the stack of a thread allows.

use ruff_python_ast::ModModule;
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse_unchecked};

/// Free stack below which the walk goes on on a new one: more than a level of the walk takes.
const STACK_RED_ZONE: usize = 64 * 1024;
/// Size of such a new stack.
const STACK_SIZE: usize = 1024 * 1024;
/// Stack that one level of the tree takes when it is dropped, rounded up: unoptimised builds take some 100 bytes.
const DROP_STACK_PER_LEVEL: usize = 1024;
/// Stack that the parser takes for a lambda in the default of another's parameter, rounded up: it is 1,440 bytes. For
/// every other nesting the parser looks for more stack by itself.
const PARSER_STACK_PER_LAMBDA: usize = 4 * 1024;
/// Texts with more lambdas are not read: no program has as many, and each takes stack.
const MAX_LAMBDAS: usize = 20_000;
/// Longer texts, in bytes, are not read either; the largest modules of PyTorch have a megabyte.
const MAX_BYTES: usize = 16 << 20;

/// What `read` finds in the tree of a text, with as much stack as it takes to parse and to drop it; `read` returns the
/// depth of the tree, too. `None` for a text over the limits of size.
pub(crate) fn with_tree<R>(
    text: &str,
    read: impl FnOnce(&Parsed<ModModule>) -> (R, usize),
) -> Option<R> {
    let n_lambdas = memchr::memmem::find_iter(text.as_bytes(), "lambda").count();
    if text.len() > MAX_BYTES || n_lambdas > MAX_LAMBDAS {
        return None;
    }
    let stack = n_lambdas * PARSER_STACK_PER_LAMBDA + STACK_RED_ZONE;
    let options = ParseOptions::from(Mode::Module);
    let parsed = stacker::maybe_grow(stack, stack + STACK_SIZE, || parse_unchecked(text, options));
    let parsed = parsed.try_into_module()?;
    let (found, depth) = read(&parsed);
    // A tree is dropped recursively, without a look at the stack.
    let stack = depth * DROP_STACK_PER_LEVEL;
    stacker::maybe_grow(stack + STACK_RED_ZONE, stack + STACK_SIZE, || drop(parsed));
    Some(found)
}

/// Runs one level of a recursive walk, on a new stack where little is left of this one.
pub(crate) fn guarded<R>(walk: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(STACK_RED_ZONE, STACK_SIZE, walk)
}

/// How deep a walk is, and was at most, in levels of the tree.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Depth {
    current: usize,
    max: usize,
}

impl Depth {
    /// The depth of the tree, once all of it was walked.
    pub(crate) fn max(self) -> usize {
        self.max
    }
}

/// A walk that measures the depth of the tree, as [`with_tree`] has to know it.
pub(crate) trait Descend {
    /// How deep this walk is.
    fn depth(&mut self) -> &mut Depth;

    /// Walks one level further down.
    fn descend(&mut self, walk: impl FnOnce(&mut Self))
    where
        Self: Sized,
    {
        let depth = self.depth();
        depth.current += 1;
        depth.max = depth.max.max(depth.current);
        guarded(|| walk(self));
        self.depth().current -= 1;
    }
}
