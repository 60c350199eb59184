//! Which statements of two versions of a program are the same ones.
//!
//! Functions are paired first: those of the same file and qualified name; then those whose qualified name is unique among
//! the rest, in whichever file; then those whose tokens agree most. Within two functions that are paired, statements are
//! matched by a diff of what they say, whatever its layout; what is left over anywhere is matched with what says the
//! same elsewhere, which finds code that was moved into or out of functions. Of what then differs, the statements that
//! stand between the same neighbours belong together.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;

use crate::line_map::diff;
use crate::statements::{Statement, statements};
use crate::{FunctionKind, Module};

/// Share (of 1) of their tokens in which two functions of different names, or two texts, must agree to be taken for one.
const MIN_FUNCTION_SIMILARITY: f64 = 0.5;

/// Share (of 1) of their tokens in which two statements must agree to be taken for one that was changed.
const MIN_STATEMENT_SIMILARITY: f64 = 0.5;

/// Tokens that a statement must have to be looked for elsewhere: `return x` is anywhere.
const MIN_MOVED_TOKENS: usize = 4;

/// Most pairs of functions, or of the statements of one place, that are compared with each other.
const MAX_COMPARED: usize = 40_000;

/// A file of a program.
#[derive(Debug, Clone, Copy)]
pub struct NamedText<'a> {
    /// Its path; a file that has the same in both versions is the same one.
    pub name: &'a str,
    /// What it says.
    pub text: &'a str,
}

/// Lines of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementLines {
    /// Place of the file among those that were given.
    pub file: usize,
    /// 1-based.
    pub lines: RangeInclusive<u32>,
}

/// What became of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MatchStatus {
    /// They say the same, in the same function.
    Same,
    /// They say the same in another file, in another function, or in another order.
    Moved,
    /// They say something else in the same place.
    Changed,
    /// Nothing corresponds to them in the base.
    Added,
    /// Nothing corresponds to them in the new version.
    Removed,
}

impl MatchStatus {
    /// Stable name in machine-readable output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Moved => "moved",
            Self::Changed => "changed",
            Self::Added => "added",
            Self::Removed => "removed",
        }
    }
}

/// Lines of both versions that correspond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedLines {
    /// In the base; none of what was added.
    pub base: Vec<StatementLines>,
    /// In the new version; none of what was removed.
    pub new: Vec<StatementLines>,
    /// What became of them.
    pub status: MatchStatus,
}

/// What corresponds in two versions of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Correspondence {
    /// Each line of a statement of either version is in one of them.
    pub lines: Vec<MatchedLines>,
    /// Functions, classes and modules that correspond: place of the file and qualified name in the base and in the new version.
    pub functions: Vec<[(usize, String); 2]>,
}

/// What corresponds in two versions of a program.
#[must_use]
pub fn correspondence(base: &[NamedText<'_>], new: &[NamedText<'_>]) -> Correspondence {
    let (base, new) = (Version::read(base), Version::read(new));
    let pairs = function_pairs(&base, &new);
    let mut matcher = Matcher {
        base: &base,
        new: &new,
        base_taken: vec![false; base.statements.len()],
        new_taken: vec![false; new.statements.len()],
        lines: Vec::new(),
    };
    for &(mine, theirs) in &pairs {
        matcher.equal_statements(mine, theirs);
    }
    matcher.moved_statements();
    for &(mine, theirs) in &pairs {
        matcher.changed_statements(mine, theirs);
    }
    matcher.rest();
    let named = |version: &Version, function: usize| {
        let it = &version.functions[function];
        (it.file, it.name.clone())
    };
    let functions = pairs.iter().map(|&(a, b)| [named(&base, a), named(&new, b)]).collect();
    Correspondence { lines: matcher.lines, functions }
}

/// A version of a program, read.
struct Version<'a> {
    names: Vec<&'a str>,
    functions: Vec<CodeBlock>,
    statements: Vec<PlacedStatement>,
}

/// A function, the body of a class, or what a module has outside of both.
struct CodeBlock {
    file: usize,
    name: String,
    kind: FunctionKind,
    /// Places in [`Version::statements`], in order.
    statements: Vec<usize>,
}

struct PlacedStatement {
    file: usize,
    statement: Statement,
}

impl<'a> Version<'a> {
    fn read(texts: &[NamedText<'a>]) -> Self {
        let names = texts.iter().map(|it| it.name).collect();
        let mut version = Self { names, functions: Vec::new(), statements: Vec::new() };
        for (file, NamedText { text, .. }) in texts.iter().enumerate() {
            let module = Module::parse(text);
            let mut known: HashMap<u32, usize> = HashMap::new();
            for statement in statements(text) {
                let Some(function) = module.enclosing(statement.first_line) else { continue };
                let is_module = function.kind == FunctionKind::Module;
                // Functions that begin on one line are one here.
                let key = if is_module { 0 } else { function.first_line };
                let place = *known.entry(key).or_insert_with(|| {
                    version.functions.push(CodeBlock {
                        file,
                        name: function.qualified_name.clone(),
                        kind: function.kind,
                        statements: Vec::new(),
                    });
                    version.functions.len() - 1
                });
                version.functions[place].statements.push(version.statements.len());
                version.statements.push(PlacedStatement { file, statement });
            }
        }
        version
    }

    fn statement(&self, place: usize) -> &Statement {
        &self.statements[place].statement
    }

    fn lines(&self, place: usize) -> StatementLines {
        let PlacedStatement { file, statement } = &self.statements[place];
        StatementLines { file: *file, lines: statement.first_line..=statement.last_line }
    }

    /// How often each token is in a function.
    fn tokens(&self, function: usize) -> HashMap<u64, usize> {
        let places = self.functions[function].statements.iter();
        tokens(&places.map(|&it| self.statement(it)).collect::<Vec<_>>())
    }
}

/// The functions that correspond, in the order of the new version.
fn function_pairs(base: &Version<'_>, new: &Version<'_>) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    // By file and name; of several of one name the first with the first.
    let places = |version: &Version<'_>| {
        let mut places: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
        for (place, it) in version.functions.iter().enumerate() {
            let key = (version.names[it.file].to_owned(), it.name.clone());
            places.entry(key).or_default().push(place);
        }
        places
    };
    let theirs = places(new);
    for (key, mine) in places(base) {
        let theirs = theirs.get(&key).map(Vec::as_slice).unwrap_or_default();
        pairs.extend(mine.into_iter().zip(theirs.iter().copied()));
    }
    let rest = |n: usize, taken: HashSet<usize>| -> Vec<usize> {
        (0..n).filter(|it| !taken.contains(it)).collect()
    };
    let mut old = rest(base.functions.len(), pairs.iter().map(|it| it.0).collect());
    let mut young = rest(new.functions.len(), pairs.iter().map(|it| it.1).collect());
    // By a name that is unique among the rest. Every file has a module.
    let unique = |version: &Version<'_>, rest: &[usize]| {
        let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for &place in rest.iter().filter(|&&it| version.functions[it].kind != FunctionKind::Module)
        {
            places.entry(version.functions[place].name.clone()).or_default().push(place);
        }
        places
    };
    let theirs = unique(new, &young);
    for (name, mine) in unique(base, &old) {
        if let (&[mine], Some(&[theirs])) = (&mine[..], theirs.get(&name).map(Vec::as_slice)) {
            pairs.push((mine, theirs));
        }
    }
    old.retain(|it| pairs.iter().all(|pair| pair.0 != *it));
    young.retain(|it| pairs.iter().all(|pair| pair.1 != *it));
    pairs.extend(similar_functions(base, new, &old, &young));
    pairs.sort_unstable_by_key(|it| it.1);
    pairs
}

/// Functions that agree in most of their tokens, those that agree most first.
fn similar_functions(
    base: &Version<'_>,
    new: &Version<'_>,
    old: &[usize],
    young: &[usize],
) -> Vec<(usize, usize)> {
    let of_old: Vec<_> = old.iter().map(|&it| base.tokens(it)).collect();
    let of_young: Vec<_> = young.iter().map(|&it| new.tokens(it)).collect();
    let kind = |version: &Version<'_>, function: usize| version.functions[function].kind;
    let pairs = most_alike(&of_old, &of_young, |mine, theirs| {
        kind(base, old[mine]) == kind(new, young[theirs])
    });
    pairs.into_iter().map(|(mine, theirs)| (old[mine], young[theirs])).collect()
}

/// Which of the texts `base` became which of `new`, by their places: those that agree most in their tokens, if in half of them or
/// more.
#[must_use]
pub fn similar_texts(base: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let of_text = |text: &&str| tokens(&statements(text).iter().collect::<Vec<_>>());
    let [base, new] = [base, new].map(|it| it.iter().map(of_text).collect::<Vec<_>>());
    most_alike(&base, &new, |_, _| true)
}

/// How often each token is in some statements.
fn tokens(statements: &[&Statement]) -> HashMap<u64, usize> {
    let mut tokens = HashMap::new();
    for &token in statements.iter().flat_map(|it| it.tokens()) {
        *tokens.entry(token).or_default() += 1;
    }
    tokens
}

/// Pairs of those that may be pairs and agree in half of their tokens or more, the ones that agree most first; none where there
/// are too many.
fn most_alike(
    old: &[HashMap<u64, usize>],
    young: &[HashMap<u64, usize>],
    may_be: impl Fn(usize, usize) -> bool,
) -> Vec<(usize, usize)> {
    if MAX_COMPARED < old.len() * young.len() {
        return Vec::new();
    }
    let mut candidates = Vec::new();
    for (mine, tokens) in old.iter().enumerate() {
        for (theirs, other) in young.iter().enumerate() {
            let similarity = similarity(tokens, other);
            if may_be(mine, theirs) && MIN_FUNCTION_SIMILARITY <= similarity {
                candidates.push((similarity, mine, theirs));
            }
        }
    }
    best_first(candidates)
}

/// The best candidates of which none takes part in two.
fn best_first(mut candidates: Vec<(f64, usize, usize)>) -> Vec<(usize, usize)> {
    candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let (mut mine, mut theirs) = (HashSet::new(), HashSet::new());
    let mut pairs = Vec::new();
    for (_, one, other) in candidates {
        if !mine.contains(&one) && !theirs.contains(&other) {
            mine.insert(one);
            theirs.insert(other);
            pairs.push((one, other));
        }
    }
    pairs
}

/// The share (of 1) of the tokens of both that both have, in any order.
fn similarity(one: &HashMap<u64, usize>, other: &HashMap<u64, usize>) -> f64 {
    let n_tokens: usize = one.values().chain(other.values()).sum();
    let common: usize =
        one.iter().map(|(token, &n)| other.get(token).map_or(0, |&m| m.min(n))).sum();
    if n_tokens == 0 { 0.0 } else { 2.0 * common as f64 / n_tokens as f64 }
}

/// What is matched so far.
struct Matcher<'a> {
    base: &'a Version<'a>,
    new: &'a Version<'a>,
    /// Whether a statement of the base is matched.
    base_taken: Vec<bool>,
    new_taken: Vec<bool>,
    lines: Vec<MatchedLines>,
}

impl Matcher<'_> {
    /// Matches one statement with one: line by line where both are laid out alike.
    fn take(&mut self, mine: usize, theirs: usize, status: MatchStatus) {
        (self.base_taken[mine], self.new_taken[theirs]) = (true, true);
        let (old, young) = (self.base.lines(mine), self.new.lines(theirs));
        if !self.base.statement(mine).is_laid_out_alike(self.new.statement(theirs)) {
            self.lines.push(MatchedLines { base: vec![old], new: vec![young], status });
            return;
        }
        for (mine, theirs) in old.lines.clone().zip(young.lines.clone()) {
            self.lines.push(MatchedLines {
                base: vec![StatementLines { file: old.file, lines: mine..=mine }],
                new: vec![StatementLines { file: young.file, lines: theirs..=theirs }],
                status,
            });
        }
    }

    /// Statements that say the same, in the order of two functions.
    fn equal_statements(&mut self, mine: usize, theirs: usize) {
        let (mine, theirs) = (&self.base.functions[mine], &self.new.functions[theirs]);
        let is_moved = self.base.names[mine.file] != self.new.names[theirs.file];
        let status = if is_moved { MatchStatus::Moved } else { MatchStatus::Same };
        let hashes = |version: &Version<'_>, statements: &[usize]| -> Vec<u64> {
            statements.iter().map(|&it| version.statement(it).hash()).collect()
        };
        let old = hashes(self.base, &mine.statements);
        let young = hashes(self.new, &theirs.statements);
        let (mut at, mut to) = (0, 0);
        for hunk in diff(&old, &young) {
            let (first, next) = (hunk.before.start as usize, hunk.after.start as usize);
            for (mine, theirs) in
                mine.statements[at..first].iter().zip(&theirs.statements[to..next])
            {
                self.take(*mine, *theirs, status);
            }
            (at, to) = (hunk.before.end as usize, hunk.after.end as usize);
        }
        for (mine, theirs) in mine.statements[at..].iter().zip(&theirs.statements[to..]) {
            self.take(*mine, *theirs, status);
        }
    }

    /// Statements that say the same and stand elsewhere.
    fn moved_statements(&mut self) {
        let free = |version: &Version<'_>, taken: &[bool]| {
            let mut free: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
            for place in (0..taken.len()).filter(|&it| !taken[it]) {
                let statement = version.statement(place);
                if MIN_MOVED_TOKENS <= statement.tokens().len() {
                    free.entry(statement.hash()).or_default().push(place);
                }
            }
            free
        };
        let theirs = free(self.new, &self.new_taken);
        for (hash, mine) in free(self.base, &self.base_taken) {
            let theirs = theirs.get(&hash).map(Vec::as_slice).unwrap_or_default();
            for (mine, theirs) in mine.into_iter().zip(theirs) {
                self.take(mine, *theirs, MatchStatus::Moved);
            }
        }
    }

    /// Statements that stand between the same neighbours and differ.
    fn changed_statements(&mut self, mine: usize, theirs: usize) {
        // The places of what is matched between these two functions, in order: they bound what was changed.
        let (base, new) = (self.base, self.new);
        let (mine, theirs) = (&base.functions[mine], &new.functions[theirs]);
        let gaps = |statements: &[usize], taken: &[bool]| {
            let mut gaps: Vec<Vec<usize>> = vec![Vec::new()];
            for &it in statements {
                match taken[it] {
                    true => gaps.push(Vec::new()),
                    false => gaps[..].last_mut().into_iter().for_each(|gap| gap.push(it)),
                }
            }
            gaps
        };
        let old = gaps(&mine.statements, &self.base_taken);
        let young = gaps(&theirs.statements, &self.new_taken);
        if old.len() == young.len() {
            for (mine, theirs) in old.iter().zip(&young) {
                self.changed_together(mine, theirs);
            }
        } else {
            // Statements were moved in or out, so that gaps do not correspond one by one.
            self.changed_together(&old.concat(), &young.concat());
        }
    }

    /// The statements of one gap: one by one where each has its counterpart, else all together.
    fn changed_together(&mut self, mine: &[usize], theirs: &[usize]) {
        if mine.is_empty() || theirs.is_empty() {
            return;
        }
        let is_similar = |(mine, theirs): (&usize, &usize)| {
            let (mine, theirs) = (self.base.statement(*mine), self.new.statement(*theirs));
            MIN_STATEMENT_SIMILARITY <= mine.similarity(theirs)
        };
        if mine.len() == theirs.len() && mine.iter().zip(theirs).all(is_similar) {
            for (mine, theirs) in mine.iter().zip(theirs) {
                self.take(*mine, *theirs, MatchStatus::Changed);
            }
            return;
        }
        mine.iter().for_each(|&it| self.base_taken[it] = true);
        theirs.iter().for_each(|&it| self.new_taken[it] = true);
        self.lines.push(MatchedLines {
            base: mine.iter().map(|&it| self.base.lines(it)).collect(),
            new: theirs.iter().map(|&it| self.new.lines(it)).collect(),
            status: MatchStatus::Changed,
        });
    }

    /// What corresponds to nothing.
    fn rest(&mut self) {
        for place in (0..self.base_taken.len()).filter(|&it| !self.base_taken[it]) {
            let base = vec![self.base.lines(place)];
            self.lines.push(MatchedLines { base, new: Vec::new(), status: MatchStatus::Removed });
        }
        for place in (0..self.new_taken.len()).filter(|&it| !self.new_taken[it]) {
            let new = vec![self.new.lines(place)];
            self.lines.push(MatchedLines { base: Vec::new(), new, status: MatchStatus::Added });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "\
import torch

def load(path):
    data = torch.load(path)
    return data.float()

def step(model, x):
    y = model(x)
    loss = y.sum()
    loss.backward()
    return loss.item()
";

    /// `status base→new` of all lines that are not where they were, of one file each.
    fn dump(base: &str, new: &str) -> Vec<String> {
        let text = |text| [NamedText { name: "a.py", text }];
        let found = correspondence(&text(base), &text(new));
        let lines = |it: &[StatementLines]| {
            let each = it.iter().map(|it| match (it.lines.start(), it.lines.end()) {
                (a, b) if a == b => a.to_string(),
                (a, b) => format!("{a}-{b}"),
            });
            each.collect::<Vec<_>>().join("+")
        };
        let mut rows: Vec<String> = found
            .lines
            .iter()
            .filter(|it| it.status != MatchStatus::Same || it.base != it.new)
            .map(|it| format!("{} {}→{}", it.status.name(), lines(&it.base), lines(&it.new)))
            .collect();
        rows.sort();
        rows
    }

    #[test]
    fn nothing_changed() {
        assert_eq!(dump(BASE, BASE), [""; 0]);
    }

    #[test]
    fn functions_change_places() {
        let (head, rest) = BASE.split_once("def load").unwrap();
        let (load, step) = rest.split_once("def step").unwrap();
        let new = format!("{head}def step{step}\ndef load{load}");
        assert!(dump(BASE, &new).iter().all(|it| it.starts_with("same")), "{:?}", dump(BASE, &new));
    }

    #[test]
    fn functions_are_renamed() {
        let new = BASE.replace("step", "train_step");
        assert_eq!(dump(BASE, &new), ["changed 7→7"]);
    }

    #[test]
    fn statements_are_changed_added_and_removed() {
        let new = BASE.replace("loss.item()", "loss.detach()");
        assert_eq!(dump(BASE, &new), ["changed 11→11"]);
        let new = BASE.replace("    loss = y.sum()\n", "");
        assert_eq!(dump(BASE, &new), ["removed 9→", "same 10→9", "same 11→10"]);
        let new = BASE.replace("    loss = y.sum()\n", "    z = y * 2\n    loss = z.sum()\n");
        assert_eq!(dump(BASE, &new), ["changed 9→9+10", "same 10→11", "same 11→12"]);
    }

    #[test]
    fn statements_are_laid_out_otherwise() {
        let new = BASE.replace("torch.load(path)", "torch.load(\n        path,\n    )");
        let found = dump(BASE, &new);
        assert_eq!(found[0], "same 10→12");
        assert!(found.contains(&"same 4→4-6".to_owned()), "{found:?}");
    }

    #[test]
    fn statements_move_to_a_function_of_their_own() {
        let new = BASE
            .replace("    loss = y.sum()\n    loss.backward()\n", "    loss = backward(y)\n")
            + "\ndef backward(y):\n    loss = y.sum()\n    loss.backward()\n    return loss\n";
        assert_eq!(
            dump(BASE, &new),
            ["added →12", "added →15", "added →9", "moved 10→14", "moved 9→13", "same 11→10"]
        );
    }

    #[test]
    fn functions_move_to_another_file() {
        let (head, step) = BASE.split_once("def step").unwrap();
        let base = [NamedText { name: "a.py", text: BASE }];
        let new = [
            NamedText { name: "a.py", text: head },
            NamedText { name: "b.py", text: &format!("def step{step}") },
        ];
        let found = correspondence(&base, &new);
        let moved = found.lines.iter().filter(|it| it.status == MatchStatus::Moved);
        assert_eq!(moved.count(), 5);
        assert!(found.functions.contains(&[(0, "step".to_owned()), (1, "step".to_owned())]));
    }
}
