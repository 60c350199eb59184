//! What expressions evaluate to, as far as it can be said without running them.

use ruff_python_ast::{CmpOp, Expr, ExprAttribute, ExprName, ExprSubscript, UnaryOp};

use crate::stack_guard::guarded;

/// What a name or attribute is assigned.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AssignedValue {
    /// The value of a name or attribute, by its last name: also `getattr(x, "name")`.
    Named(String),
    /// The result of calling this name: an object of a class, maybe.
    Made(String),
    /// A number, string, or a display.
    Plain,
    /// `None`: something else comes later, maybe.
    None,
    /// The result of an operator: a number or a tensor, and no object of a class that the text makes.
    Computed,
    /// Anything else.
    Unknown,
}

impl AssignedValue {
    /// Whether it is a tensor.
    pub(crate) fn is_tensor(&self) -> bool {
        matches!(self, Self::Made(maker) if OF_TENSORS.contains(&maker.as_str()))
    }

    /// Whether it is a number, a string or the like.
    pub(crate) fn is_plain(&self) -> bool {
        const MAKERS: [&str; 8] = ["len", "int", "float", "str", "bool", "round", "range", "time"];
        match self {
            Self::Plain | Self::None => true,
            Self::Made(maker) => MAKERS.contains(&maker.as_str()),
            Self::Named(_) | Self::Computed | Self::Unknown => false,
        }
    }
}

/// Functions and methods whose results are tensors, whoever has them: NumPy and Python know none of these names.
const OF_TENSORS: [&str; 28] = [
    "Tensor",
    "tensor",
    "bfloat16",
    "bmm",
    "clamp",
    "contiguous",
    "detach",
    "double",
    "expand",
    "expand_as",
    "gelu",
    "half",
    "index_select",
    "log_softmax",
    "logsumexp",
    "long",
    "masked_fill",
    "new_full",
    "new_ones",
    "new_tensor",
    "new_zeros",
    "permute",
    "relu",
    "sigmoid",
    "softmax",
    "softplus",
    "type_as",
    "unsqueeze",
];

/// Whether a subscript is a hyperparameter of an optimizer's group: `group["lr"]`. The groups' parameters are the one
/// entry that is no number.
pub(crate) fn is_hyperparameter(it: &ExprSubscript) -> bool {
    let group = it.value.as_name_expr().map(|it| it.id.as_str());
    let key = it.slice.as_string_literal_expr().map(|it| it.value.to_str());
    matches!(group, Some("group" | "param_group")) && key.is_some_and(|it| it != "params")
}

/// Whether a method of this name gives a tensor, whatever it is a method of.
pub(crate) fn is_tensor_method(name: &str) -> bool {
    matches!(name, "float" | "int" | "bool") || OF_TENSORS.contains(&name)
}

/// Whether a method of tensors gives something else: a number, a size, an array.
pub(crate) fn gives_value(name: &str) -> bool {
    const VALUES: [&str; 22] = [
        "item",
        "tolist",
        "numpy",
        "size",
        "dim",
        "ndimension",
        "numel",
        "nelement",
        "element_size",
        "itemsize",
        "stride",
        "storage_offset",
        "storage",
        "untyped_storage",
        "data_ptr",
        "get_device",
        "type",
        "backward",
        "register_hook",
        "equal",
        "allclose",
        "pin_memory",
    ];
    name.starts_with("is_") || VALUES.contains(&name)
}

/// Whether a function of `torch` gives a tensor.
pub(crate) fn gives_tensor(name: &str) -> bool {
    const OTHERS: [&str; 27] = [
        "allclose",
        "autocast",
        "broadcast_shapes",
        "can_cast",
        "compile",
        "device",
        "enable_grad",
        "equal",
        "finfo",
        "iinfo",
        "inference_mode",
        "initial_seed",
        "load",
        "manual_seed",
        "no_grad",
        "numel",
        "promote_types",
        "result_type",
        "save",
        "seed",
        "split",
        "chunk",
        "unbind",
        "meshgrid",
        "tensor_split",
        "typename",
        "jit",
    ];
    let is_class = name.starts_with(char::is_uppercase) && name != "Tensor";
    let is_of_others =
        ["is_", "get_", "set_", "use_", "are_"].iter().any(|it| name.starts_with(it));
    !is_class && !is_of_others && !OTHERS.contains(&name)
}

/// What an expression may evaluate to: the ways of a conditional expression, the operands of `and` and `or`.
pub(crate) fn each_value(expr: &Expr, each: &mut impl FnMut(AssignedValue)) {
    guarded(|| match expr {
        Expr::If(it) => {
            each_value(&it.body, each);
            each_value(&it.orelse, each);
        }
        Expr::BoolOp(it) => it.values.iter().for_each(|it| each_value(it, each)),
        Expr::Named(it) => each_value(&it.value, each),
        _ => each(value_of(expr)),
    });
}

pub(crate) fn value_of(expr: &Expr) -> AssignedValue {
    match expr {
        Expr::Name(it) => AssignedValue::Named(it.id.to_string()),
        Expr::Attribute(it) => AssignedValue::Named(it.attr.to_string()),
        Expr::Call(it) => match &*it.func {
            // `getattr(x, "name", …)` is `x.name`.
            Expr::Name(func) if func.id == "getattr" => match it.arguments.args.get(1) {
                Some(Expr::StringLiteral(name)) => {
                    AssignedValue::Named(name.value.to_str().to_owned())
                }
                _ => AssignedValue::Unknown,
            },
            _ if is_size(expr) => AssignedValue::Plain,
            // `partial(f, …)` calls `f`.
            func if last_name(func) == Some("partial") => {
                match it.arguments.args.first().map(value_of) {
                    Some(AssignedValue::Named(name)) => AssignedValue::Named(name),
                    _ => AssignedValue::Unknown,
                }
            }
            Expr::Name(func) => AssignedValue::Made(func.id.to_string()),
            // `x.float()` is a tensor, as `float(x)` is none.
            Expr::Attribute(func) => match func.attr.as_str() {
                "float" | "int" | "bool" => AssignedValue::Made("Tensor".to_owned()),
                "round" => AssignedValue::Unknown,
                name => AssignedValue::Made(name.to_owned()),
            },
            _ => AssignedValue::Unknown,
        },
        Expr::Subscript(_) if is_size(expr) => AssignedValue::Plain,
        Expr::NoneLiteral(_) => AssignedValue::None,
        _ if expr.is_literal_expr()
            || matches!(
                expr,
                Expr::Dict(_)
                    | Expr::List(_)
                    | Expr::Set(_)
                    | Expr::Tuple(_)
                    | Expr::FString(_)
                    | Expr::ListComp(_)
                    | Expr::DictComp(_)
                    | Expr::SetComp(_)
            ) =>
        {
            AssignedValue::Plain
        }
        // A comparison of tensors is a tensor.
        Expr::Compare(it)
            if it.ops.iter().all(|op| is_of_objects(*op))
                || it.comparators.iter().any(Expr::is_string_literal_expr) =>
        {
            AssignedValue::Plain
        }
        Expr::Compare(_) => AssignedValue::Computed,
        Expr::UnaryOp(it) if it.op == UnaryOp::Not => AssignedValue::Plain,
        Expr::BinOp(_) | Expr::UnaryOp(_) => AssignedValue::Computed,
        _ => AssignedValue::Unknown,
    }
}

/// `name` of `name` and of `x.name`.
pub(crate) fn last_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Name(it) => Some(&it.id),
        Expr::Attribute(it) => Some(&it.attr),
        _ => None,
    }
}

/// The name that `x.y.z` begins with, and the attributes behind it, the last first.
pub(crate) fn name_and_attributes(expr: &Expr) -> Option<(&ExprName, Vec<&str>)> {
    let mut attributes = Vec::new();
    let mut rest = expr;
    while let Expr::Attribute(it) = rest {
        attributes.push(it.attr.as_str());
        rest = &it.value;
    }
    Some((rest.as_name_expr()?, attributes))
}

/// Whether a comparison gives `True` or `False`, whatever it compares.
pub(crate) fn is_of_objects(op: CmpOp) -> bool {
    matches!(op, CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn)
}

/// Whether an expression is a number that says how large a tensor is: `x.size(0)`, `x.shape[0]`, `x.dim()`, `x.numel()`.
pub(crate) fn is_size(expr: &Expr) -> bool {
    match expr {
        Expr::Call(it) => match &*it.func {
            Expr::Attribute(func) => match func.attr.as_str() {
                "size" => !it.arguments.is_empty(),
                "dim" | "ndimension" | "numel" | "nelement" => it.arguments.is_empty(),
                _ => false,
            },
            _ => false,
        },
        Expr::Subscript(it) => is_sizes(&it.value) && !it.slice.is_slice_expr(),
        _ => false,
    }
}

/// Whether an expression is the sizes of a tensor: `x.shape`, `x.size()`, `x.shape[1:]`; or is called `shape`.
pub(crate) fn is_sizes(expr: &Expr) -> bool {
    match expr {
        Expr::Name(it) => it.id.as_str() == "shape",
        Expr::Attribute(it) => it.attr.as_str() == "shape",
        Expr::Call(it) => {
            let is_size = |it: &ExprAttribute| it.attr.as_str() == "size";
            it.arguments.is_empty() && it.func.as_attribute_expr().is_some_and(is_size)
        }
        Expr::Subscript(it) => it.slice.is_slice_expr() && is_sizes(&it.value),
        _ => false,
    }
}
