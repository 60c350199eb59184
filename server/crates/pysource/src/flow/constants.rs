//! Constants that calls pass, and conditions that ask for them.

use ruff_python_ast::{Arguments, Expr, Number, ParameterWithDefault, Parameters};

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
            Expr::NumberLiteral(it) => Self::Number(match &it.value {
                Number::Int(it) => it.to_string(),
                Number::Float(it) => it.to_string(),
                Number::Complex { .. } => return None,
            }),
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

/// What a call passes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallArguments {
    /// By position, up to the first `*`; `None` of what is no constant.
    positional: Vec<Option<Constant>>,
    named: Vec<(String, Option<Constant>)>,
    /// Whether it has `*` or `**` arguments, which may be any others.
    spreads: bool,
}

impl CallArguments {
    pub(super) fn of(arguments: &Arguments) -> Self {
        let positional = arguments.args.iter().take_while(|it| !it.is_starred_expr());
        let positional: Vec<_> = positional.map(Constant::of).collect();
        let keywords = || arguments.keywords.iter();
        let named = keywords()
            .filter_map(|it| Some((it.arg.as_ref()?.to_string(), Constant::of(&it.value))));
        let spreads =
            positional.len() < arguments.args.len() || keywords().any(|it| it.arg.is_none());
        Self { named: named.collect(), positional, spreads }
    }

    /// What the parameter in row `parameter` gets, if that is a constant.
    pub(super) fn value_of<'a>(
        &'a self,
        parameters: &'a [FlowParameter],
        parameter: usize,
        is_bound: bool,
    ) -> Option<&'a Constant> {
        let place = parameter.checked_sub(usize::from(is_bound))?;
        let it = parameters.get(parameter)?;
        if let Some(value) = self.positional.get(place).filter(|_| it.has_place) {
            return value.as_ref();
        }
        if let Some((_, value)) = self.named.iter().find(|(name, _)| *name == it.name) {
            return value.as_ref();
        }
        it.default.as_ref().filter(|_| !self.spreads)
    }
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FlowParameter {
    name: String,
    /// What it is where nothing is passed, if that is a constant.
    default: Option<Constant>,
    /// Whether it can be passed by its position.
    has_place: bool,
}

impl FlowParameter {
    pub(super) fn all(parameters: &Parameters) -> Vec<Self> {
        let of = |it: &ParameterWithDefault, has_place| Self {
            name: it.name().to_string(),
            default: it.default.as_deref().and_then(Constant::of),
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
    pub(super) fn holds_for(&self, value: &Constant) -> Option<bool> {
        let Some(is) = &self.is else { return Some(value.is_true()) };
        let is_of_kind = std::mem::discriminant(is) == std::mem::discriminant(value);
        let is_none = *is == Constant::None || *value == Constant::None;
        (is_of_kind || is_none).then_some(is == value)
    }
}
