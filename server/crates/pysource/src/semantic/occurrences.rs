//! Where each name of a file occurs, what it is bound to, and the statement that an edit is about.

use std::collections::HashMap;

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{
    CmpOp, Expr, ExprAttribute, ExprCall, ExprContext, ExprName, Identifier, Keyword, ModModule,
    Stmt, StmtClassDef, StmtFor, StmtFunctionDef,
};
use ruff_text_size::{Ranged, TextRange};

use super::{Imports, Scopes, imported};
use crate::LineIndex;
use crate::stack_guard::guarded;

/// What is known of the names of a file.
pub(crate) struct FileNames<'a> {
    lines: &'a LineIndex,
    /// The line of the statement that is looked for.
    wanted: u32,
    /// The first statement that begins there, after the statements around it, outermost first.
    pub(crate) path: Vec<FoundStatement<'a>>,
    is_found: bool,
    pub(crate) scopes: Scopes<'a>,
    pub(crate) occurrences: HashMap<&'a str, Vec<Occurrence>>,
    /// What names were imported as.
    pub(crate) imports: Imports<'a>,
    /// What a name or attribute was assigned in a plain assignment, by where that is.
    pub(crate) assigned: HashMap<TextRange, &'a Expr>,
    /// The functions and classes, by where they are named.
    pub(crate) functions: HashMap<TextRange, &'a StmtFunctionDef>,
    pub(crate) classes: HashMap<TextRange, &'a StmtClassDef>,
    /// The functions of parameters, by where these are named.
    pub(crate) parameters: HashMap<TextRange, &'a StmtFunctionDef>,
    /// By name.
    attributes: HashMap<&'a str, Vec<&'a ExprAttribute>>,
    /// In source order.
    pub(crate) calls: Vec<&'a ExprCall>,
    /// In source order, outer before inner.
    pub(crate) loops: Vec<&'a StmtFor>,
    /// Each `if __name__ == "__main__"`.
    pub(crate) mains: Vec<TextRange>,
    /// `from … import *`: any name may be bound.
    pub(crate) has_star: bool,
    scope: usize,
}

/// A statement, by its place in the statements around it.
#[derive(Clone, Copy)]
pub(crate) struct FoundStatement<'a> {
    pub(crate) suite: &'a [Stmt],
    pub(crate) row: usize,
    /// As an index into [`FileNames::scopes`].
    pub(crate) scope: usize,
}

/// A name in the text.
#[derive(Clone, Copy)]
pub(crate) struct Occurrence {
    pub(crate) range: TextRange,
    pub(crate) scope: usize,
    pub(crate) kind: OccurrenceKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OccurrenceKind {
    Load,
    /// Assigned or deleted, in any way.
    Bind,
    Import,
    /// `global` and `nonlocal`.
    Outer,
}

impl<'a> FileNames<'a> {
    /// Looks through a file for its names, and for the assignment that begins on a line.
    pub(crate) fn of(module: &'a ModModule, lines: &'a LineIndex, wanted: u32) -> Self {
        let mut names = Self {
            lines,
            wanted,
            path: Vec::new(),
            is_found: false,
            scopes: Scopes::new(module),
            occurrences: HashMap::new(),
            imports: Imports::default(),
            assigned: HashMap::new(),
            functions: HashMap::new(),
            classes: HashMap::new(),
            parameters: HashMap::new(),
            attributes: HashMap::new(),
            calls: Vec::new(),
            loops: Vec::new(),
            mains: Vec::new(),
            has_star: false,
            scope: 0,
        };
        names.visit_body(&module.body);
        names
    }

    /// Where a name occurs.
    pub(crate) fn of_name(&self, name: &str) -> &[Occurrence] {
        self.occurrences.get(name).map_or(&[], Vec::as_slice)
    }

    /// Where an attribute of a name occurs.
    pub(crate) fn attributes(&self, name: &str) -> &[&'a ExprAttribute] {
        self.attributes.get(name).map_or(&[], Vec::as_slice)
    }

    /// How often a name is bound, imports among them.
    pub(crate) fn n_bindings(&self, name: &str) -> usize {
        self.of_name(name).iter().filter(|it| it.kind != OccurrenceKind::Load).count()
    }

    /// Whether a name is the one that Python comes with.
    pub(crate) fn is_builtin(&self, name: &str) -> bool {
        self.n_bindings(name) == 0 && !self.has_star
    }

    /// What a name is assigned, if that is its only binding in the file.
    pub(crate) fn only_value(&self, name: &str) -> Option<&'a Expr> {
        let mut bound = self.of_name(name).iter().filter(|it| it.kind != OccurrenceKind::Load);
        let only = bound.next().filter(|_| bound.next().is_none() && !self.has_star)?;
        self.assigned.get(&only.range).copied()
    }

    /// The statement that was looked for.
    pub(crate) fn found(&self) -> Option<FoundStatement<'a>> {
        self.path.last().copied().filter(|_| self.is_found)
    }

    /// What a name with attributes stands for (`torch.nn.functional.mse_loss`), if its first part was imported and is not
    /// bound otherwise.
    pub(crate) fn imported_path(&self, expr: &Expr) -> Option<String> {
        let (name, path) = self.imports.path(expr)?;
        let is_import =
            |it: &Occurrence| matches!(it.kind, OccurrenceKind::Load | OccurrenceKind::Import);
        let is_plain = self.of_name(name.id.as_str()).iter().all(is_import) && !self.has_star;
        is_plain.then_some(path)
    }

    /// The one binding that a name can have where it is used.
    pub(crate) fn binding(&self, name: &ExprName) -> Option<Occurrence> {
        let all = self.of_name(name.id.as_str());
        if self.has_star || all.iter().any(|it| it.kind == OccurrenceKind::Outer) {
            return None;
        }
        let of_scope = |scope: usize| {
            let bound = all.iter().filter(move |it| it.kind != OccurrenceKind::Load);
            bound.filter(move |it| self.home(it.scope) == scope)
        };
        let around = (0..self.scopes.codes.len()).rev();
        let mut around = around
            .filter(|&it| self.scopes.codes[it].range().contains_range(name.range))
            .peekable();
        let innermost = *around.peek()?;
        let mut visible = around.filter(|&it| !self.scopes.codes[it].is_class() || it == innermost);
        let mut bound = of_scope(visible.find(|&it| of_scope(it).next().is_some())?);
        bound.next().copied().filter(|_| bound.next().is_none())
    }

    /// Where a name is bound that is bound in a scope: a walrus in a comprehension binds outside of it.
    fn home(&self, scope: usize) -> usize {
        let is_home = |it: usize| {
            it == 0 || self.scopes.codes[it].is_def() || self.scopes.codes[it].is_class()
        };
        let range = self.scopes.codes[scope].range();
        let mut around =
            (0..=scope).rev().filter(|&it| self.scopes.codes[it].range().contains_range(range));
        around.find(|&it| is_home(it)).unwrap_or_default()
    }

    fn add(&mut self, name: &'a str, range: TextRange, kind: OccurrenceKind) {
        let occurrence = Occurrence { range, scope: self.scope, kind };
        self.occurrences.entry(name).or_default().push(occurrence);
    }

    /// Walks what has names of its own: `node`, as it is numbered in [`Scopes`].
    fn inside<T>(&mut self, node: &T, walk: impl FnOnce(&mut Self)) {
        let inner = self.scopes.number(node).unwrap_or(self.scope);
        let outer = std::mem::replace(&mut self.scope, inner);
        walk(self);
        self.scope = outer;
    }

    fn import(&mut self, stmt: &'a Stmt) {
        for it in imported(stmt) {
            let (name, range) = (it.name, it.range);
            self.has_star |= name == "*";
            // The same import twice (in two functions) is one; two that differ are none.
            let kind =
                if self.imports.add(it) { OccurrenceKind::Import } else { OccurrenceKind::Bind };
            self.add(name, range, kind);
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for FileNames<'a> {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        for (row, stmt) in body.iter().enumerate() {
            if self.is_found {
                self.visit_stmt(stmt);
                continue;
            }
            self.path.push(FoundStatement { suite: body, row, scope: self.scope });
            self.is_found = self.lines.line(stmt.start().to_usize()) == self.wanted;
            self.visit_stmt(stmt);
            if !self.is_found {
                self.path.pop();
            }
        }
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        guarded(|| match stmt {
            Stmt::FunctionDef(def) => {
                self.add(def.name.as_str(), def.name.range, OccurrenceKind::Bind);
                self.functions.insert(def.name.range, def);
                for it in def.parameters.iter_non_variadic_params() {
                    self.parameters.insert(it.parameter.name.range, def);
                }
                self.inside(def, |this| source_order::walk_stmt(this, stmt));
            }
            Stmt::ClassDef(class) => {
                self.add(class.name.as_str(), class.name.range, OccurrenceKind::Bind);
                self.classes.insert(class.name.range, class);
                self.inside(class, |this| source_order::walk_stmt(this, stmt));
            }
            Stmt::Import(_) | Stmt::ImportFrom(_) => self.import(stmt),
            Stmt::Global(it) => {
                it.names
                    .iter()
                    .for_each(|it| self.add(it.as_str(), it.range, OccurrenceKind::Outer));
            }
            Stmt::Nonlocal(it) => {
                it.names
                    .iter()
                    .for_each(|it| self.add(it.as_str(), it.range, OccurrenceKind::Outer));
            }
            Stmt::Assign(it) => {
                if let [target @ (Expr::Name(_) | Expr::Attribute(_))] = it.targets.as_slice() {
                    self.assigned.insert(target.range(), &it.value);
                }
                source_order::walk_stmt(self, stmt);
            }
            Stmt::AnnAssign(it) => {
                if let Some(value) = &it.value {
                    self.assigned.insert(it.target.range(), value);
                }
                source_order::walk_stmt(self, stmt);
            }
            Stmt::If(it) => {
                if is_main(&it.test) {
                    self.mains.push(it.range);
                }
                source_order::walk_stmt(self, stmt);
            }
            Stmt::For(it) => {
                self.loops.push(it);
                source_order::walk_stmt(self, stmt);
            }
            _ => source_order::walk_stmt(self, stmt),
        });
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        guarded(|| match expr {
            Expr::Name(it) => {
                let kind = if it.ctx == ExprContext::Load {
                    OccurrenceKind::Load
                } else {
                    OccurrenceKind::Bind
                };
                self.add(it.id.as_str(), it.range, kind);
            }
            // The name of an attribute is none of the file.
            Expr::Attribute(it) => {
                self.attributes.entry(it.attr.as_str()).or_default().push(it);
                self.visit_expr(&it.value);
            }
            Expr::Call(it) => {
                self.calls.push(it);
                source_order::walk_expr(self, expr);
            }
            Expr::Lambda(it) => self.inside(it, |this| source_order::walk_expr(this, expr)),
            Expr::ListComp(it) => self.inside(it, |this| source_order::walk_expr(this, expr)),
            Expr::SetComp(it) => self.inside(it, |this| source_order::walk_expr(this, expr)),
            Expr::DictComp(it) => self.inside(it, |this| source_order::walk_expr(this, expr)),
            Expr::Generator(it) => self.inside(it, |this| source_order::walk_expr(this, expr)),
            _ => source_order::walk_expr(self, expr),
        });
    }

    fn visit_keyword(&mut self, keyword: &'a Keyword) {
        self.visit_expr(&keyword.value);
    }

    fn visit_pattern(&mut self, pattern: &'a ruff_python_ast::Pattern) {
        guarded(|| source_order::walk_pattern(self, pattern));
    }

    fn visit_identifier(&mut self, identifier: &'a Identifier) {
        self.add(identifier.as_str(), identifier.range, OccurrenceKind::Bind);
    }
}

/// `__name__ == "__main__"`.
fn is_main(test: &Expr) -> bool {
    let Expr::Compare(it) = test else { return false };
    let is_name = matches!(&*it.left, Expr::Name(it) if it.id == "__name__");
    let is_equal = matches!(&*it.ops, [CmpOp::Eq]);
    let is_main =
        |it: &Expr| matches!(it, Expr::StringLiteral(it) if it.value.to_str() == "__main__");
    is_name && is_equal && it.comparators.iter().all(is_main)
}
