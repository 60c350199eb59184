//! Reads the flows of the functions of a text.

use std::collections::HashMap;

use crate::LineIndex;
use crate::flow::Flow;
use crate::flow::builder::FlowBuilder;
use crate::flow::mentions::mention;
use crate::repair::repair;
use crate::semantic::{Bindings, ScopeCode, Scopes};
use crate::stack_guard::with_tree;

/// The flow of functions of a text: one for each of `wanted`, which are indices into [`crate::Module::functions`] of the
/// same text. Never fails: of a text with errors it gives what can be read, and for an index that there is not an empty
/// flow.
#[must_use]
pub fn flows(text: &str, wanted: &[usize]) -> Vec<Flow> {
    let flows = match read(text, None, wanted) {
        Some(Err(repaired)) => read(&repaired, Some(text), wanted).and_then(Result::ok),
        flows => flows.and_then(Result::ok),
    };
    flows.unwrap_or_else(|| wanted.iter().map(|&function| Flow::empty(function)).collect())
}

/// The flows of `text`, or the repaired text, which says more; `None` for a text over the limits of size. `original` is what
/// `text` is a repair of.
fn read(text: &str, original: Option<&str>, wanted: &[usize]) -> Option<Result<Vec<Flow>, String>> {
    let lines = LineIndex::new(text);
    let mut flows = with_tree(text, |parsed| {
        let scopes = Scopes::new(parsed.syntax());
        let repaired = (original.is_none() && !parsed.errors().is_empty())
            .then(|| repair(text, parsed.tokens(), &lines))
            .flatten();
        // Comprehensions may be inlined, each with variables of its own.
        let inlined = (0..scopes.codes.len())
            .filter(|&it| matches!(scopes.codes[it], ScopeCode::Comprehension(_)));
        let mut names: HashMap<_, _> = inlined.map(|it| (it, Bindings::new(&scopes, it))).collect();
        let build = |&function: &usize| {
            let mut scope = Some(function);
            while let Some(at) = scope {
                names.entry(at).or_insert_with(|| Bindings::new(&scopes, at));
                scope = scopes.parents.get(at).copied().flatten();
            }
            FlowBuilder::build(&scopes, &lines, &names, function)
        };
        let flows = match repaired {
            Some(repaired) => Err(repaired),
            None => {
                let mut flows: Vec<_> = wanted.iter().map(build).collect();
                mention(text, parsed.tokens(), &mut flows);
                Ok(flows)
            }
        };
        (flows, scopes.depth)
    })?;
    if let (Some(original), Ok(flows)) = (original, &mut flows) {
        let originals = LineIndex::new(original);
        for site in flows.iter_mut().flat_map(|flow| &mut flow.sites) {
            site.text = site.text.carried(&lines, &originals);
        }
    }
    Some(flows)
}
