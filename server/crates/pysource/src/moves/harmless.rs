//! What of a program neither changes a tensor nor keeps it.

use ruff_python_ast::visitor::source_order::{self, SourceOrderVisitor};
use ruff_python_ast::{Arguments, Expr, ExprCall, Operator, Stmt, UnaryOp};
use ruff_text_size::TextRange;

use crate::semantic::FileNames;
use crate::stack_guard::guarded;

/// Losses of `torch.nn.functional`, and reductions of `torch`: their result is a new tensor.
const FRESH_FUNCTIONS: [&str; 24] = [
    "torch.nn.functional.binary_cross_entropy",
    "torch.nn.functional.binary_cross_entropy_with_logits",
    "torch.nn.functional.cosine_embedding_loss",
    "torch.nn.functional.cross_entropy",
    "torch.nn.functional.ctc_loss",
    "torch.nn.functional.gaussian_nll_loss",
    "torch.nn.functional.hinge_embedding_loss",
    "torch.nn.functional.huber_loss",
    "torch.nn.functional.kl_div",
    "torch.nn.functional.l1_loss",
    "torch.nn.functional.margin_ranking_loss",
    "torch.nn.functional.mse_loss",
    "torch.nn.functional.nll_loss",
    "torch.nn.functional.poisson_nll_loss",
    "torch.nn.functional.smooth_l1_loss",
    "torch.nn.functional.soft_margin_loss",
    "torch.nn.functional.triplet_margin_loss",
    "torch.dot",
    "torch.mean",
    "torch.norm",
    "torch.prod",
    "torch.std",
    "torch.sum",
    "torch.var",
];

/// Methods of tensors with a new tensor for their result.
const FRESH_METHODS: [&str; 6] = ["mean", "norm", "prod", "std", "sum", "var"];

/// Whether the result of an expression is an object that nothing else refers to.
pub(super) fn is_fresh(names: &FileNames<'_>, expr: &Expr) -> bool {
    match expr {
        Expr::BinOp(it) => is_arithmetic(it.op),
        Expr::UnaryOp(it) => it.op == UnaryOp::USub,
        Expr::Call(call) => !has_out(&call.arguments) && is_fresh_call(names, call),
        _ => false,
    }
}

fn is_fresh_call(names: &FileNames<'_>, call: &ExprCall) -> bool {
    if let Some(path) = names.imported_path(&call.func) {
        return FRESH_FUNCTIONS.contains(&path.as_str());
    }
    match &*call.func {
        // Of a plain name it is not known whether it is a tensor or something that keeps one.
        Expr::Attribute(it) => {
            FRESH_METHODS.contains(&it.attr.as_str())
                && matches!(&*it.value, Expr::Call(_) | Expr::BinOp(_) | Expr::Subscript(_))
        }
        // `criterion = nn.CrossEntropyLoss()`, and nothing else by that name.
        Expr::Name(it) => {
            let made = names.only_value(it.id.as_str()).and_then(|it| it.as_call_expr());
            let path = made.and_then(|made| names.imported_path(&made.func)).unwrap_or_default();
            let class = path.strip_prefix("torch.nn.").unwrap_or_default();
            class.ends_with("Loss") && !class.contains('.')
        }
        _ => false,
    }
}

/// Whether an operator makes a number of numbers: others are also used to put things into things.
fn is_arithmetic(operator: Operator) -> bool {
    !matches!(
        operator,
        Operator::LShift | Operator::RShift | Operator::BitOr | Operator::BitXor | Operator::BitAnd
    )
}

/// Whether a call may write its result into something that is there.
fn has_out(arguments: &Arguments) -> bool {
    let mut names = arguments.keywords.iter().map(|it| it.arg.as_ref().map(|it| it.as_str()));
    names.any(|name| matches!(name, None | Some("out" | "inplace")))
}

/// Uses of a tensor that neither change it nor give it to anybody.
pub(super) struct Harmless<'n> {
    pub(super) name: &'n str,
    pub(super) ranges: Vec<TextRange>,
}

impl Harmless<'_> {
    fn add(&mut self, expr: &Expr) {
        if let Expr::Name(it) = expr
            && it.id.as_str() == self.name
        {
            self.ranges.push(it.range);
        }
    }
}

impl<'a> SourceOrderVisitor<'a> for Harmless<'_> {
    fn visit_stmt(&mut self, stmt: &'a Stmt) {
        guarded(|| source_order::walk_stmt(self, stmt));
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::BinOp(it) if is_arithmetic(it.op) => {
                [&it.left, &it.right].into_iter().for_each(|it| self.add(it))
            }
            Expr::Compare(it) => {
                self.add(&it.left);
                it.comparators.iter().for_each(|it| self.add(it));
            }
            Expr::UnaryOp(it) if it.op != UnaryOp::UAdd => self.add(&it.operand),
            Expr::Call(call) => match &*call.func {
                Expr::Attribute(it) if matches!(it.attr.as_str(), "backward" | "item") => {
                    self.add(&it.value);
                }
                _ => {}
            },
            _ => {}
        }
        guarded(|| source_order::walk_expr(self, expr));
    }
}
