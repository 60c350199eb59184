//! Where each name of a file occurs, and the statement that is to be moved.

use std::collections::HashMap;

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{
    Expr, ExprContext, Identifier, Keyword, ModModule, Stmt, StmtImport, StmtImportFrom,
};
use ruff_text_size::{Ranged, TextRange};

use crate::LineIndex;
use crate::collect::deeper;

/// What is known of the names of a file.
pub(super) struct Names<'a> {
    lines: &'a LineIndex,
    /// The line of the statement that is looked for.
    wanted: u32,
    pub(super) found: Option<Found<'a>>,
    pub(super) scopes: Vec<Scope>,
    pub(super) occurrences: HashMap<&'a str, Vec<Occurrence>>,
    /// What names were imported as, with dots.
    pub(super) imports: HashMap<&'a str, String>,
    /// What names were assigned in a plain assignment.
    pub(super) assigned: HashMap<&'a str, &'a Expr>,
    /// `from … import *`: any name may be bound.
    pub(super) has_star: bool,
    scope: usize,
    depth: usize,
    pub(super) deepest: usize,
}

/// A statement, by its place in the statements around it.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) suite: &'a [Stmt],
    pub(super) row: usize,
    /// As an index into [`Names::scopes`].
    pub(super) scope: usize,
}

/// Something that has names of its own.
#[derive(Clone, Copy)]
pub(super) struct Scope {
    pub(super) is_def: bool,
    pub(super) range: TextRange,
}

/// A name in the text.
#[derive(Clone, Copy)]
pub(super) struct Occurrence {
    pub(super) range: TextRange,
    pub(super) scope: usize,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Load,
    /// Assigned or deleted, in any way.
    Bind,
    Import,
    /// `global` and `nonlocal`.
    Outer,
}

impl<'a> Names<'a> {
    /// Looks through a file for its names, and for the assignment that begins on a line.
    pub(super) fn of(module: &'a ModModule, lines: &'a LineIndex, wanted: u32) -> Self {
        let mut names = Self {
            lines,
            wanted,
            found: None,
            scopes: vec![Scope { is_def: false, range: module.range }],
            occurrences: HashMap::new(),
            imports: HashMap::new(),
            assigned: HashMap::new(),
            has_star: false,
            scope: 0,
            depth: 0,
            deepest: 0,
        };
        names.visit_body(&module.body);
        names
    }

    /// Where a name occurs.
    pub(super) fn of_name(&self, name: &str) -> &[Occurrence] {
        self.occurrences.get(name).map_or(&[], Vec::as_slice)
    }

    /// How often a name is bound, imports among them.
    pub(super) fn n_bindings(&self, name: &str) -> usize {
        self.of_name(name).iter().filter(|it| it.kind != Kind::Load).count()
    }

    fn add(&mut self, name: &'a str, range: TextRange, kind: Kind) {
        let occurrence = Occurrence { range, scope: self.scope, kind };
        self.occurrences.entry(name).or_default().push(occurrence);
    }

    fn deeper(&mut self, walk: impl FnOnce(&mut Self)) {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        deeper(|| walk(self));
        self.depth -= 1;
    }

    fn inside(&mut self, is_def: bool, range: TextRange, walk: impl FnOnce(&mut Self)) {
        self.scopes.push(Scope { is_def, range });
        let outer = std::mem::replace(&mut self.scope, self.scopes.len() - 1);
        walk(self);
        self.scope = outer;
    }

    fn import(&mut self, it: &'a StmtImport) {
        for alias in &it.names {
            let path = alias.name.as_str();
            // `import torch.nn` binds `torch`.
            let (name, stands_for) = match &alias.asname {
                Some(name) => (name.as_str(), path),
                None => {
                    let root = path.split('.').next().unwrap_or(path);
                    (root, root)
                }
            };
            self.imported(name, stands_for.to_owned(), alias.range);
        }
    }

    fn import_from(&mut self, it: &'a StmtImportFrom) {
        for alias in &it.names {
            self.has_star |= alias.name.as_str() == "*";
            let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
            let module = it.module.as_ref().map_or("", Identifier::as_str);
            let dots = ".".repeat(it.level as usize);
            self.imported(name, format!("{dots}{module}.{}", alias.name), alias.range);
        }
    }

    fn imported(&mut self, name: &'a str, stands_for: String, range: TextRange) {
        let before = self.imports.insert(name, stands_for.clone());
        // The same import twice (in two functions) is one; two that differ are none.
        let kind = if before.is_none_or(|it| it == stands_for) { Kind::Import } else { Kind::Bind };
        self.add(name, range, kind);
    }
}

impl<'a> SourceOrderVisitor<'a> for Names<'a> {
    fn visit_body(&mut self, body: &'a [Stmt]) {
        for (row, stmt) in body.iter().enumerate() {
            let is_wanted = |stmt: &Stmt| {
                stmt.is_assign_stmt() && self.lines.line(stmt.start().to_usize()) == self.wanted
            };
            if self.found.is_none() && is_wanted(stmt) {
                self.found = Some(Found { suite: body, row, scope: self.scope });
            }
            self.visit_stmt(stmt);
        }
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.deeper(|this| match stmt {
            Stmt::FunctionDef(def) => {
                this.add(def.name.as_str(), def.name.range, Kind::Bind);
                this.inside(true, def.range, |this| source_order::walk_stmt(this, stmt));
            }
            Stmt::ClassDef(class) => {
                this.add(class.name.as_str(), class.name.range, Kind::Bind);
                this.inside(false, class.range, |this| source_order::walk_stmt(this, stmt));
            }
            Stmt::Import(it) => this.import(it),
            Stmt::ImportFrom(it) => this.import_from(it),
            Stmt::Global(it) => {
                it.names.iter().for_each(|it| this.add(it.as_str(), it.range, Kind::Outer));
            }
            Stmt::Nonlocal(it) => {
                it.names.iter().for_each(|it| this.add(it.as_str(), it.range, Kind::Outer));
            }
            Stmt::Assign(it) => {
                if let [Expr::Name(name)] = it.targets.as_slice() {
                    this.assigned.insert(name.id.as_str(), &it.value);
                }
                source_order::walk_stmt(this, stmt);
            }
            _ => source_order::walk_stmt(this, stmt),
        });
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.deeper(|this| match expr {
            Expr::Name(it) => {
                let kind = if it.ctx == ExprContext::Load { Kind::Load } else { Kind::Bind };
                this.add(it.id.as_str(), it.range, kind);
            }
            // The name of an attribute is none of the file.
            Expr::Attribute(it) => this.visit_expr(&it.value),
            Expr::Lambda(_)
            | Expr::ListComp(_)
            | Expr::SetComp(_)
            | Expr::DictComp(_)
            | Expr::Generator(_) => {
                this.inside(false, expr.range(), |this| source_order::walk_expr(this, expr));
            }
            _ => source_order::walk_expr(this, expr),
        });
    }

    fn visit_keyword(&mut self, keyword: &'a Keyword) {
        self.visit_expr(&keyword.value);
    }

    fn visit_pattern(&mut self, pattern: &'a ruff_python_ast::Pattern) {
        self.deeper(|this| source_order::walk_pattern(this, pattern));
    }

    fn visit_identifier(&mut self, identifier: &'a Identifier) {
        self.add(identifier.as_str(), identifier.range, Kind::Bind);
    }
}
