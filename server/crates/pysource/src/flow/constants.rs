//! Constants that calls pass, and conditions that ask for them.

use ruff_python_ast::{
    Arguments, Expr, ExprName, Number, ParameterWithDefault, Parameters, UnaryOp,
};

use crate::values::{AssignedValue, value_of};

/// A constant in the text. Equal ones of a kind are equal values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Constant {
    None,
    Truth(bool),
    Number(String),
    Text(String),
}

impl Constant {
    pub(super) fn of(expr: &Expr) -> Option<Self> {
        Some(match expr {
            Expr::NoneLiteral(_) => Self::None,
            Expr::BooleanLiteral(it) => Self::Truth(it.value),
            Expr::StringLiteral(it) => Self::Text(it.value.to_str().to_owned()),
            Expr::NumberLiteral(it) => Self::Number(number(&it.value)?),
            Expr::UnaryOp(it) if it.op == UnaryOp::USub => {
                let number = number(&it.operand.as_number_literal_expr()?.value)?;
                Self::Number(if number == "0" { number } else { format!("-{number}") })
            }
            _ => return None,
        })
    }

    /// The same words for the same constant.
    pub(super) fn words(&self) -> String {
        match self {
            Self::None => "None".to_owned(),
            Self::Truth(it) => it.to_string(),
            Self::Number(it) => it.clone(),
            Self::Text(it) => format!("{it:?}"),
        }
    }

    fn is_true(&self) -> bool {
        match self {
            Self::None => false,
            Self::Truth(it) => *it,
            Self::Number(it) => it != "0",
            Self::Text(it) => !it.is_empty(),
        }
    }
}

fn number(number: &Number) -> Option<String> {
    match number {
        Number::Int(it) => Some(it.to_string()),
        Number::Float(it) => Some(it.to_string()),
        Number::Complex { .. } => None,
    }
}

/// What is known of a value that is passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownValue(Known);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Known {
    Constant(Constant),
    /// What is computed or made, and so is not `None`.
    NotNone,
}

impl KnownValue {
    fn of(expr: &Expr) -> Option<Self> {
        if let Some(constant) = Constant::of(expr) {
            return Some(Self(Known::Constant(constant)));
        }
        let is_made = matches!(value_of(expr), AssignedValue::Plain | AssignedValue::Computed);
        is_made.then_some(Self(Known::NotNone))
    }
}

/// What a call passes for a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Passed {
    Value(KnownValue),
    /// What the calling function itself was passed for the parameter in this row.
    Parameter(usize),
}

/// What a call passes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallArguments {
    /// By position, up to the first `*`; `None` of what is not known.
    positional: Vec<Option<Passed>>,
    named: Vec<(String, Option<Passed>)>,
    /// Whether it has `*` arguments, which may be any others by their position.
    spreads_positional: bool,
    /// Whether it has `**` arguments, which may be any others by their name.
    spreads_named: bool,
}

impl CallArguments {
    /// `parameter` says which parameter of the calling function a name is, where that is what was passed.
    pub(super) fn of(
        arguments: &Arguments,
        parameter: impl Fn(&ExprName) -> Option<usize>,
    ) -> Self {
        let passed = |expr: &Expr| match expr {
            Expr::Name(it) => Some(Passed::Parameter(parameter(it)?)),
            _ => KnownValue::of(expr).map(Passed::Value),
        };
        let positional = arguments.args.iter().take_while(|it| !it.is_starred_expr());
        let positional: Vec<_> = positional.map(passed).collect();
        let keywords = || arguments.keywords.iter();
        let named =
            keywords().filter_map(|it| Some((it.arg.as_ref()?.to_string(), passed(&it.value))));
        Self {
            named: named.collect(),
            spreads_positional: positional.len() < arguments.args.len(),
            spreads_named: keywords().any(|it| it.arg.is_none()),
            positional,
        }
    }

    /// Whether it has `*` or `**` arguments, which may be any number of others.
    #[must_use]
    pub fn spreads(&self) -> bool {
        self.spreads_positional || self.spreads_named
    }

    /// Whether something is passed that the calling function was passed itself.
    #[must_use]
    pub fn hands_on(&self) -> bool {
        let named = self.named.iter().map(|(_, it)| it);
        self.positional.iter().chain(named).any(|it| matches!(it, Some(Passed::Parameter(_))))
    }

    /// What the parameter in row `parameter` gets, as far as that is known. `of_caller` says what the calling function was passed, by
    /// the row of its parameter.
    pub(super) fn value_of(
        &self,
        parameters: &[FlowParameter],
        parameter: usize,
        is_bound: bool,
        of_caller: impl Fn(usize) -> Option<KnownValue>,
    ) -> Option<KnownValue> {
        let place = parameter.checked_sub(usize::from(is_bound))?;
        let it = parameters.get(parameter)?;
        let placed = self.positional.get(place).filter(|_| it.has_place);
        let named = || self.named.iter().find(|(name, _)| *name == it.name).map(|(_, it)| it);
        match placed.or_else(named) {
            Some(passed) => match passed.as_ref()? {
                Passed::Value(value) => Some(value.clone()),
                Passed::Parameter(row) => of_caller(*row),
            },
            None => {
                let is_spread = self.spreads_named || (self.spreads_positional && it.has_place);
                it.default.clone().filter(|_| !is_spread)
            }
        }
    }
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FlowParameter {
    name: String,
    /// What it is where nothing is passed, as far as that is known.
    default: Option<KnownValue>,
    /// Whether it can be passed by its position.
    has_place: bool,
}

impl FlowParameter {
    pub(super) fn all(parameters: &Parameters) -> Vec<Self> {
        let of = |it: &ParameterWithDefault, has_place| Self {
            name: it.name().to_string(),
            default: it.default.as_deref().and_then(KnownValue::of),
            has_place,
        };
        let placed = parameters.posonlyargs.iter().chain(&parameters.args);
        let placed = placed.map(|it| of(it, true));
        placed.chain(parameters.kwonlyargs.iter().map(|it| of(it, false))).collect()
    }

    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name == name
    }
}

/// What a condition asks of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParameterTest {
    pub(super) condition: u32,
    /// Which, as a row of the function's parameters.
    pub(super) parameter: usize,
    /// Whether it is this; `None` where its truth is asked.
    pub(super) is: Option<Constant>,
}

impl ParameterTest {
    /// `None` where that depends on more: `1 == True`.
    pub(super) fn holds_for(&self, value: &KnownValue) -> Option<bool> {
        match (&self.is, &value.0) {
            (None, Known::Constant(value)) => Some(value.is_true()),
            (None, Known::NotNone) => None,
            (Some(is), Known::NotNone) => (*is == Constant::None).then_some(false),
            (Some(is), Known::Constant(value)) => {
                let is_of_kind = std::mem::discriminant(is) == std::mem::discriminant(value);
                let is_none = *is == Constant::None || *value == Constant::None;
                (is_of_kind || is_none).then_some(is == value)
            }
        }
    }
}
