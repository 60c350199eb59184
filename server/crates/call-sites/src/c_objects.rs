//! Objects of C code that are called without leaving an event.

use pysource::flow::{Binding, Callee};

/// Whether what is called is a type or another object of C code, by the module that it is imported from: calling one leaves
/// no event.
pub(crate) fn is_object_of_c(callee: &Callee) -> bool {
    let is_object = || match (callee.path.as_slice(), callee.name()) {
        ([_, _], Some(name)) => is_ufunc(callee) || TYPES_OF_NUMPY.contains(&name),
        // Compiled functions are recorded where they are built-in functions, and these are not.
        ([_, part, _], Some(_)) => part == "random",
        _ => false,
    };
    is_type_of_c(callee) || (is_of_numpy(callee) && is_object())
}

fn is_of_numpy(callee: &Callee) -> bool {
    matches!(&callee.binding, Binding::Imported { path, .. } if path == "numpy")
}

/// Whether a universal function of NumPy is called: it is written in C and calls no Python code.
pub(crate) fn is_ufunc(callee: &Callee) -> bool {
    let is_named = || callee.name().is_some_and(|it| UNIVERSAL_FUNCTIONS.contains(&it));
    is_of_numpy(callee) && callee.path.len() == 2 && is_named()
}

/// Whether what is called is a type of the standard library that is written in C.
pub(crate) fn is_type_of_c(callee: &Callee) -> bool {
    let Binding::Imported { path, .. } = &callee.binding else { return false };
    let is_module = matches!(path.as_str(), "itertools" | "functools" | "collections" | "operator");
    let is_named = callee.path.len() == 1 || (callee.path.len() == 2 && is_module);
    is_named && callee.name().is_some_and(|it| TYPES_OF_C.contains(&it))
}

/// Whether the type of an object is called, as in `type(x)(…)`.
pub(crate) fn is_type_of_object(callee: &Callee) -> bool {
    callee.path == ["type", "()"]
}

/// Types of the standard library that are written in C.
const TYPES_OF_C: [&str; 16] = [
    "chain",
    "repeat",
    "cycle",
    "count",
    "islice",
    "product",
    "accumulate",
    "zip_longest",
    "starmap",
    "groupby",
    "combinations",
    "permutations",
    "attrgetter",
    "itemgetter",
    "deque",
    "defaultdict",
];

/// Types of NumPy.
const TYPES_OF_NUMPY: [&str; 12] = [
    "float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "uint16", "bool_",
    "dtype", "ndarray",
];

/// NumPy's universal functions: objects, not functions.
const UNIVERSAL_FUNCTIONS: [&str; 38] = [
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "arctan2",
    "sinh",
    "cosh",
    "tanh",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "square",
    "abs",
    "absolute",
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "floor",
    "ceil",
    "sign",
    "power",
    "mod",
    "isnan",
    "isinf",
    "isfinite",
    "logical_and",
    "logical_or",
    "logical_not",
];

/// Whether a built-in type of this name is called without an event.
pub(crate) fn is_type_call(name: &str) -> bool {
    let types = [
        "int",
        "float",
        "bool",
        "str",
        "list",
        "tuple",
        "dict",
        "set",
        "frozenset",
        "range",
        "enumerate",
        "zip",
        "map",
        "filter",
        "reversed",
        "slice",
        "type",
        "super",
        "object",
        "bytes",
        "property",
        "partial",
    ];
    types.contains(&name)
}

/// Whether what is called is a method of this name of lists, dicts, sets or strings, as far as its name shows. Methods of tensors are
/// left out.
pub(crate) fn is_container_method(callee: &Callee) -> bool {
    let methods = [
        "append",
        "extend",
        "insert",
        "pop",
        "popleft",
        "keys",
        "values",
        "items",
        "get",
        "setdefault",
        "update",
        "discard",
        "join",
        "startswith",
        "endswith",
        "lower",
        "upper",
        "strip",
    ];
    callee.is_method && callee.name().is_some_and(|it| methods.contains(&it))
}
