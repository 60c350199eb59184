//! What would wait for a device, by the text alone: reads of tensors inside loops.
//!
//! A name counts as a tensor from where it is bound to what evidently makes one, to where it is bound to something
//! else. What is not evident is left alone.

use std::collections::HashSet;
use std::ops::Range;

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{
    CmpOp, Expr, ExprCall, ExprContext, ExprSubscript, Parameters, Stmt, StmtFunctionDef, UnaryOp,
};
use ruff_text_size::Ranged;

use crate::semantic::{Imports, imported};
use crate::stack_guard::{Depth, Descend, with_tree};
use crate::{LineIndex, Module};

/// Something in a loop that would wait for the device if the tensor were on one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PossibleSync {
    /// 1-based line where it begins.
    pub line: u32,
    /// Its bytes.
    pub range: Range<usize>,
    /// Why it waits.
    pub kind: SyncKind,
    /// What it is: `.item()`, `float()`, `if`.
    pub what: &'static str,
}

/// Why something waits for the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncKind {
    /// A call reads one number: `.item()`, `float()`.
    Number,
    /// A statement asks whether a tensor is true: `if`, `while`.
    Condition,
    /// The number of elements of the result depends on the values: `.nonzero()`.
    Nonzero,
    /// A mask is an index, so that the number of elements of the result depends on it.
    Mask,
    /// The tensor is copied to the host: `.cpu()`.
    Copy,
    /// The device is waited for by itself.
    Synchronize,
}

/// Functions of `torch` whose result is a tensor.
const MAKERS: [&str; 56] = [
    "abs",
    "add",
    "amax",
    "amin",
    "arange",
    "argmax",
    "argmin",
    "bmm",
    "cat",
    "clamp",
    "cos",
    "cumsum",
    "div",
    "dot",
    "einsum",
    "empty",
    "empty_like",
    "exp",
    "eye",
    "full",
    "full_like",
    "gather",
    "linspace",
    "log",
    "logsumexp",
    "matmul",
    "mean",
    "mm",
    "mul",
    "norm",
    "ones",
    "ones_like",
    "outer",
    "pow",
    "prod",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "relu",
    "sigmoid",
    "sin",
    "softmax",
    "sqrt",
    "stack",
    "std",
    "sub",
    "sum",
    "tanh",
    "tensor",
    "where",
    "isnan",
    "var",
    "zeros",
    "zeros_like",
];

/// Methods of tensors whose result is none.
const READERS: [&str; 16] = [
    "backward",
    "data_ptr",
    "dim",
    "element_size",
    "get_device",
    "has_names",
    "is_contiguous",
    "is_floating_point",
    "item",
    "ndimension",
    "numel",
    "numpy",
    "register_hook",
    "size",
    "storage",
    "tolist",
];

/// Levels of an expression that are looked at.
const MAX_DEPTH: usize = 16;

impl Module {
    /// What in `text`, which this is the module of, would wait for a device in a loop; in source order. Empty where the
    /// file does not import `torch`.
    #[must_use]
    pub fn possible_syncs(&self, text: &str) -> Vec<PossibleSync> {
        if memchr::memmem::find(text.as_bytes(), b"torch").is_none() {
            return Vec::new();
        }
        let lines = LineIndex::new(text);
        let found = with_tree(text, |parsed| {
            let mut reader = SyncReader {
                lines: &lines,
                imports: Imports::default(),
                tensors: vec![HashSet::new()],
                loops: 0,
                depth: Depth::default(),
                found: Vec::new(),
            };
            reader.visit_body(&parsed.syntax().body);
            let has_torch = reader.imports.paths().any(|it| it.split('.').next() == Some("torch"));
            (if has_torch { reader.found } else { Vec::new() }, reader.depth.max())
        });
        let mut found = found.unwrap_or_default();
        found.sort_by_key(|it| it.range.start);
        found
    }
}

struct SyncReader<'a> {
    lines: &'a LineIndex,
    /// What names were imported as.
    imports: Imports<'a>,
    /// Names that are tensors, by function.
    tensors: Vec<HashSet<&'a str>>,
    /// Loops around, within the function.
    loops: usize,
    depth: Depth,
    found: Vec<PossibleSync>,
}

impl Descend for SyncReader<'_> {
    fn depth(&mut self) -> &mut Depth {
        &mut self.depth
    }
}

impl<'a> SyncReader<'a> {
    fn add(&mut self, place: &impl Ranged, kind: SyncKind, what: &'static str) {
        if self.loops == 0 {
            return;
        }
        let range = place.range();
        let range = range.start().to_usize()..range.end().to_usize();
        let line = self.lines.line(range.start);
        self.found.push(PossibleSync { line, range, kind, what });
    }

    /// The body of a loop.
    fn looped(&mut self, walk: impl FnOnce(&mut Self)) {
        self.loops += 1;
        walk(self);
        self.loops -= 1;
    }

    fn function(&mut self, def: &'a StmtFunctionDef) {
        def.decorator_list.iter().for_each(|it| self.visit_decorator(it));
        let loops = std::mem::take(&mut self.loops);
        self.tensors.push(self.annotated(&def.parameters));
        self.visit_body(&def.body);
        self.tensors.pop();
        self.loops = loops;
    }

    /// Parameters that are annotated as tensors.
    fn annotated(&self, parameters: &'a Parameters) -> HashSet<&'a str> {
        let all = parameters.iter_non_variadic_params().map(|it| &it.parameter);
        let is_tensor =
            |annotation: &Expr| self.path(annotation).is_some_and(|path| path == "torch.Tensor");
        all.filter(|it| it.annotation.as_deref().is_some_and(is_tensor))
            .map(|it| it.name.as_str())
            .collect()
    }

    /// An imported name with what follows it: `torch.nn.functional.relu`.
    fn path(&self, expr: &Expr) -> Option<String> {
        self.imports.path(expr).map(|(_, path)| path)
    }

    fn is_tensor(&self, expr: &Expr, depth: usize) -> bool {
        if depth == MAX_DEPTH {
            return false;
        }
        let is = |expr: &Expr| self.is_tensor(expr, depth + 1);
        match expr {
            Expr::Name(name) => self.tensors.last().is_some_and(|it| it.contains(name.id.as_str())),
            Expr::BinOp(it) => is(&it.left) || is(&it.right),
            Expr::UnaryOp(it) => it.op != UnaryOp::Not && is(&it.operand),
            Expr::Compare(it) => {
                let compares =
                    |op: &CmpOp| !matches!(op, CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn);
                it.ops.len() == 1
                    && it.ops.iter().all(compares)
                    && (is(&it.left) || it.comparators.iter().any(is))
            }
            Expr::Subscript(it) => is(&it.value),
            Expr::Attribute(it) => {
                matches!(it.attr.as_str(), "data" | "grad" | "T" | "mT") && is(&it.value)
            }
            Expr::Call(call) => {
                if let Some(path) = self.path(&call.func) {
                    let function = path.strip_prefix("torch.").unwrap_or_default();
                    return function.starts_with("nn.functional.") || MAKERS.contains(&function);
                }
                call.func.as_attribute_expr().is_some_and(|func| {
                    !READERS.contains(&func.attr.as_str())
                        && !func.attr.starts_with("is_")
                        && is(&func.value)
                })
            }
            _ => false,
        }
    }

    /// `target` is bound to `value`.
    fn bind(&mut self, target: &'a Expr, value: Option<&Expr>) {
        match target {
            Expr::Name(name) => {
                let is_tensor = value.is_some_and(|value| self.is_tensor(value, 0));
                if let Some(tensors) = self.tensors.last_mut() {
                    if is_tensor {
                        tensors.insert(name.id.as_str());
                    } else {
                        tensors.remove(name.id.as_str());
                    }
                }
            }
            Expr::Tuple(it) => it.elts.iter().for_each(|it| self.bind(it, None)),
            Expr::List(it) => it.elts.iter().for_each(|it| self.bind(it, None)),
            _ => {}
        }
    }

    fn call(&mut self, call: &ExprCall) {
        let is_bare = call.arguments.args.is_empty() && call.arguments.keywords.is_empty();
        let path = self.path(&call.func);
        match path.as_deref() {
            Some("torch.cuda.synchronize") => {
                return self.add(call, SyncKind::Synchronize, "torch.cuda.synchronize()");
            }
            Some("torch.nonzero") => return self.add(call, SyncKind::Nonzero, "torch.nonzero()"),
            Some(_) => return,
            None => {}
        }
        if let Some(func) = call.func.as_attribute_expr() {
            // A call on something imported is none of a tensor: `np.item()`.
            let is_tensor = self.is_tensor(&func.value, 0);
            let may_be = is_tensor || self.path(&func.value).is_none();
            match func.attr.as_str() {
                "item" if is_bare && may_be => self.add(call, SyncKind::Number, ".item()"),
                "cpu" if is_bare && may_be => self.add(call, SyncKind::Copy, ".cpu()"),
                // The copy to the host has waited already.
                "numpy" if is_tensor && !is_call_of(&func.value, "cpu") => {
                    self.add(call, SyncKind::Copy, ".numpy()")
                }
                "tolist" if is_tensor => self.add(call, SyncKind::Copy, ".tolist()"),
                "nonzero" if is_tensor => self.add(call, SyncKind::Nonzero, ".nonzero()"),
                _ => {}
            }
        } else if let (Expr::Name(name), [argument, ..]) = (&*call.func, &*call.arguments.args)
            && self.is_tensor(argument, 0)
        {
            match name.id.as_str() {
                "float" => self.add(call, SyncKind::Number, "float()"),
                "int" => self.add(call, SyncKind::Number, "int()"),
                "bool" => self.add(call, SyncKind::Number, "bool()"),
                "print" => self.add(call, SyncKind::Number, "print()"),
                _ => {}
            }
        }
    }

    fn test(&mut self, test: &Expr, what: &'static str) {
        let inner = match test {
            Expr::UnaryOp(it) if it.op == UnaryOp::Not => &it.operand,
            _ => test,
        };
        if self.is_tensor(inner, 0) {
            self.add(test, SyncKind::Condition, what);
        }
    }

    fn subscript(&mut self, it: &ExprSubscript) {
        let is_mask = matches!(&*it.slice, Expr::Compare(_)) && self.is_tensor(&it.slice, 0);
        if it.ctx == ExprContext::Load && is_mask {
            self.add(it, SyncKind::Mask, "indexing with a mask");
        }
    }
}

/// Whether an expression is `….name()`.
fn is_call_of(expr: &Expr, name: &str) -> bool {
    let func = expr.as_call_expr().and_then(|call| call.func.as_attribute_expr());
    func.is_some_and(|func| func.attr.as_str() == name)
}

impl<'a> SourceOrderVisitor<'a> for SyncReader<'a> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        self.descend(|this| match stmt {
            Stmt::FunctionDef(def) => this.function(def),
            // What a relative import names is none of `torch`.
            Stmt::Import(_) | Stmt::ImportFrom(_) => {
                for it in imported(stmt).into_iter().filter(|it| !it.is_relative) {
                    this.imports.add(it);
                }
            }
            Stmt::For(it) => {
                this.visit_expr(&it.iter);
                this.bind(&it.target, None);
                this.looped(|this| this.visit_body(&it.body));
                this.visit_body(&it.orelse);
            }
            Stmt::While(it) => {
                this.looped(|this| {
                    this.test(&it.test, "while");
                    this.visit_expr(&it.test);
                    this.visit_body(&it.body);
                });
                this.visit_body(&it.orelse);
            }
            Stmt::If(it) => {
                this.test(&it.test, "if");
                for clause in &it.elif_else_clauses {
                    if let Some(test) = &clause.test {
                        this.test(test, "elif");
                    }
                }
                source_order::walk_stmt(this, stmt);
            }
            Stmt::Assert(it) => {
                this.test(&it.test, "assert");
                source_order::walk_stmt(this, stmt);
            }
            Stmt::Assign(it) => {
                source_order::walk_stmt(this, stmt);
                it.targets.iter().for_each(|target| this.bind(target, Some(&it.value)));
            }
            Stmt::AnnAssign(it) => {
                source_order::walk_stmt(this, stmt);
                this.bind(&it.target, it.value.as_deref());
            }
            _ => source_order::walk_stmt(this, stmt),
        });
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        self.descend(|this| match expr {
            Expr::Call(call) => {
                this.call(call);
                source_order::walk_expr(this, expr);
            }
            Expr::Subscript(it) => {
                this.subscript(it);
                source_order::walk_expr(this, expr);
            }
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
                this.looped(|this| source_order::walk_expr(this, expr));
            }
            Expr::Lambda(_) => {
                let loops = std::mem::take(&mut this.loops);
                source_order::walk_expr(this, expr);
                this.loops = loops;
            }
            _ => source_order::walk_expr(this, expr),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `LINE WHAT: TEXT` of what is found.
    fn found(text: &str) -> Vec<String> {
        let found = Module::parse(text).possible_syncs(text);
        found
            .iter()
            .map(|it| format!("{} {}: {}", it.line, it.what, &text[it.range.clone()]))
            .collect()
    }

    #[test]
    fn reads_in_loops() {
        let text = "\
import torch
import torch.nn.functional as F
from torch import Tensor
def train(model, loader, mask: Tensor):
    total = torch.zeros(())
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        total += loss.item()
        if loss > 3:
            print(loss)
        best = float(loss.mean()) + int(y) + float(x)
        kept = mask[mask > 0]
        rows = mask.nonzero(), mask.tolist(), mask.detach().cpu().numpy()
        torch.cuda.synchronize()
    while not mask.any():
        mask = step(mask)
        bool(mask)
    return [it.item() for it in total.unbind()], loss.item()
";
        assert_eq!(
            found(text),
            [
                "8 .item(): loss.item()",
                "9 if: loss > 3",
                "10 print(): print(loss)",
                "11 float(): float(loss.mean())",
                "12 indexing with a mask: mask[mask > 0]",
                "13 .nonzero(): mask.nonzero()",
                "13 .tolist(): mask.tolist()",
                "13 .cpu(): mask.detach().cpu()",
                "14 torch.cuda.synchronize(): torch.cuda.synchronize()",
                "15 while: not mask.any()",
                "18 .item(): it.item()",
            ]
        );
    }

    #[test]
    fn what_is_no_read_of_a_tensor() {
        let text = "\
import torch
import numpy as np
def f(values, n: int):
    x = torch.ones(3)
    for value in values:
        float(value); int(n); value.tolist()
        if x.shape[0] > 2 and x.dim() == 3 and x is not None:
            print(n)
        np.item(); np.cpu()
        def g():
            return x.item()
        h = lambda: x.item()
    x.item()
";
        assert_eq!(found(text), [""; 0]);
        assert_eq!(found("for a in b:\n    a.item()\n"), [""; 0], "no torch");
    }
}
