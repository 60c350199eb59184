//! Where each name of a file occurs, what it is bound to, and the statement that an edit is about.

use std::collections::HashMap;

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{
    CmpOp, Expr, ExprAttribute, ExprCall, ExprContext, Identifier, Keyword, ModModule, Stmt,
    StmtClassDef, StmtFor, StmtFunctionDef, StmtImport, StmtImportFrom,
};
use ruff_text_size::{Ranged, TextRange};

use crate::LineIndex;
use crate::collect::deeper;

/// What is known of the names of a file.
pub(crate) struct Names<'a> {
    lines: &'a LineIndex,
    /// The line of the statement that is looked for.
    wanted: u32,
    /// The first statement that begins there, after the statements around it, outermost first.
    pub(crate) path: Vec<Found<'a>>,
    is_found: bool,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) occurrences: HashMap<&'a str, Vec<Occurrence>>,
    /// What names were imported as, with dots.
    pub(crate) imports: HashMap<&'a str, String>,
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
    depth: usize,
    pub(crate) deepest: usize,
}

/// A statement, by its place in the statements around it.
#[derive(Clone, Copy)]
pub(crate) struct Found<'a> {
    pub(crate) suite: &'a [Stmt],
    pub(crate) row: usize,
    /// As an index into [`Names::scopes`].
    pub(crate) scope: usize,
}

/// Something that has names of its own.
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    pub(crate) is_def: bool,
    pub(crate) is_class: bool,
    pub(crate) range: TextRange,
}

/// A name in the text.
#[derive(Clone, Copy)]
pub(crate) struct Occurrence {
    pub(crate) range: TextRange,
    pub(crate) scope: usize,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Load,
    /// Assigned or deleted, in any way.
    Bind,
    Import,
    /// `global` and `nonlocal`.
    Outer,
}

impl<'a> Names<'a> {
    /// Looks through a file for its names, and for the assignment that begins on a line.
    pub(crate) fn of(module: &'a ModModule, lines: &'a LineIndex, wanted: u32) -> Self {
        let mut names = Self {
            lines,
            wanted,
            path: Vec::new(),
            is_found: false,
            scopes: vec![Scope { is_def: false, is_class: false, range: module.range }],
            occurrences: HashMap::new(),
            imports: HashMap::new(),
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
            depth: 0,
            deepest: 0,
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
        self.of_name(name).iter().filter(|it| it.kind != Kind::Load).count()
    }

    /// Whether a name is the one that Python comes with.
    pub(crate) fn is_builtin(&self, name: &str) -> bool {
        self.n_bindings(name) == 0 && !self.has_star
    }

    /// What a name is assigned, if that is its only binding in the file.
    pub(crate) fn only_value(&self, name: &str) -> Option<&'a Expr> {
        let mut bound = self.of_name(name).iter().filter(|it| it.kind != Kind::Load);
        let only = bound.next().filter(|_| bound.next().is_none() && !self.has_star)?;
        self.assigned.get(&only.range).copied()
    }

    /// The statement that was looked for.
    pub(crate) fn found(&self) -> Option<Found<'a>> {
        self.path.last().copied().filter(|_| self.is_found)
    }

    /// What a name with attributes stands for (`torch.nn.functional.mse_loss`), if its first part was imported and is not
    /// bound otherwise.
    pub(crate) fn imported_path(&self, expr: &Expr) -> Option<String> {
        match expr {
            Expr::Name(it) => {
                let is_import = |it: &Occurrence| matches!(it.kind, Kind::Load | Kind::Import);
                let is_plain = self.of_name(it.id.as_str()).iter().all(is_import) && !self.has_star;
                self.imports.get(it.id.as_str()).filter(|_| is_plain).cloned()
            }
            Expr::Attribute(it) => {
                deeper(|| self.imported_path(&it.value)).map(|path| format!("{path}.{}", it.attr))
            }
            _ => None,
        }
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

    fn inside(
        &mut self,
        (is_def, is_class): (bool, bool),
        range: TextRange,
        walk: impl FnOnce(&mut Self),
    ) {
        self.scopes.push(Scope { is_def, is_class, range });
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
            if self.is_found {
                self.visit_stmt(stmt);
                continue;
            }
            self.path.push(Found { suite: body, row, scope: self.scope });
            self.is_found = self.lines.line(stmt.start().to_usize()) == self.wanted;
            self.visit_stmt(stmt);
            if !self.is_found {
                self.path.pop();
            }
        }
    }

    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.deeper(|this| match stmt {
            Stmt::FunctionDef(def) => {
                this.add(def.name.as_str(), def.name.range, Kind::Bind);
                this.functions.insert(def.name.range, def);
                for it in def.parameters.iter_non_variadic_params() {
                    this.parameters.insert(it.parameter.name.range, def);
                }
                let walk = |this: &mut Self| source_order::walk_stmt(this, stmt);
                this.inside((true, false), def.range, walk);
            }
            Stmt::ClassDef(class) => {
                this.add(class.name.as_str(), class.name.range, Kind::Bind);
                this.classes.insert(class.name.range, class);
                let walk = |this: &mut Self| source_order::walk_stmt(this, stmt);
                this.inside((false, true), class.range, walk);
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
                if let [target @ (Expr::Name(_) | Expr::Attribute(_))] = it.targets.as_slice() {
                    this.assigned.insert(target.range(), &it.value);
                }
                source_order::walk_stmt(this, stmt);
            }
            Stmt::AnnAssign(it) => {
                if let Some(value) = &it.value {
                    this.assigned.insert(it.target.range(), value);
                }
                source_order::walk_stmt(this, stmt);
            }
            Stmt::If(it) => {
                if is_main(&it.test) {
                    this.mains.push(it.range);
                }
                source_order::walk_stmt(this, stmt);
            }
            Stmt::For(it) => {
                this.loops.push(it);
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
            Expr::Attribute(it) => {
                this.attributes.entry(it.attr.as_str()).or_default().push(it);
                this.visit_expr(&it.value);
            }
            Expr::Call(it) => {
                this.calls.push(it);
                source_order::walk_expr(this, expr);
            }
            Expr::Lambda(_)
            | Expr::ListComp(_)
            | Expr::SetComp(_)
            | Expr::DictComp(_)
            | Expr::Generator(_) => {
                let walk = |this: &mut Self| source_order::walk_expr(this, expr);
                this.inside((false, false), expr.range(), walk);
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

/// `__name__ == "__main__"`.
fn is_main(test: &Expr) -> bool {
    let Expr::Compare(it) = test else { return false };
    let is_name = matches!(&*it.left, Expr::Name(it) if it.id == "__name__");
    let is_equal = matches!(&*it.ops, [CmpOp::Eq]);
    let is_main =
        |it: &Expr| matches!(it, Expr::StringLiteral(it) if it.value.to_str() == "__main__");
    is_name && is_equal && it.comparators.iter().all(is_main)
}
