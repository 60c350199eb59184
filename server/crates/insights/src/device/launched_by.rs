//! What launches the kernels of a line.

use ledger::{LineBooks, Ns, Pattern};

/// What most kernels of a line are launched by. What can be done about many small ones depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LaunchedBy {
    /// Code that `torch.compile` made.
    Compiled,
    /// The backward pass of code that is not compiled.
    Backward,
    /// An optimizer of PyTorch.
    Optimizer,
    /// The same with one kernel for each list of parameters.
    FusedOptimizer,
    /// Anything else.
    Other,
}

/// Share of the kernels of a line that are Inductor's from which its code is compiled: products of matrices between them
/// are kernels of libraries.
const MIN_COMPILED: f64 = 0.2;

/// Share of a line's time from which something is what the line does.
const MAJORITY: f64 = 0.5;

/// How Inductor names its kernels: pointwise, reduction, persistent reduction, scan, lists, template, several in one.
const INDUCTOR: [&str; 7] = [
    "triton_poi_",
    "triton_red_",
    "triton_per_",
    "triton_spl_",
    "triton_for_",
    "triton_tem_",
    "triton_mix_",
];

/// An operator of the autograd engine: the name of the node follows.
const NODE: &str = "autograd::engine::evaluate_function";

/// The node of a compiled backward pass.
const COMPILED_NODE: &str = "CompiledFunctionBackward";

/// The operators of fused optimizers.
const FUSED: [&str; 3] = ["aten::_fused_adam", "aten::_fused_sgd", "aten::_fused_adagrad"];

impl LaunchedBy {
    pub(super) fn of(books: &LineBooks) -> Self {
        let is_inductor = |name: &str| INDUCTOR.iter().any(|it| name.starts_with(it));
        let inductor = books.kernel_table.iter().filter(|(key, _)| is_inductor(&key.name));
        let inductor: u64 = inductor.map(|(_, it)| it.calls).sum();
        let all = operators(books, |_| true);
        let nodes = operators_named(books, NODE, "");
        if 0 < inductor && MIN_COMPILED * books.kernels as f64 <= inductor as f64 {
            Self::Compiled
        } else if Ns::ZERO < nodes && is_most(nodes, all) {
            match is_most(operators_named(books, NODE, COMPILED_NODE), nodes) {
                true => Self::Compiled,
                false => Self::Backward,
            }
        } else if is_optimizer(books) {
            let is_fused = |name: &String| FUSED.iter().any(|it| name.starts_with(it));
            match books.operators.keys().any(is_fused) {
                true => Self::FusedOptimizer,
                false => Self::Optimizer,
            }
        } else {
            Self::Other
        }
    }

    /// How the same is done with fewer launches.
    pub(super) fn remedy(self) -> &'static str {
        match self {
            Self::Compiled => {
                "This code is compiled: mode=\"reduce-overhead\" launches its kernels in one call, as a CUDA graph, and larger batches \
                 give each more to do."
            }
            Self::Backward => {
                "Compile the forward code with torch.compile: its backward pass is compiled with it. Larger batches give each kernel more to do."
            }
            Self::Optimizer => {
                "fused=True (Adam, AdamW, SGD, Adagrad) updates a list of parameters in one kernel, foreach=True in a few; torch.compile \
                 takes the step of other optimizers."
            }
            Self::FusedOptimizer => {
                "The optimizer is fused: with larger batches the same data takes fewer of its steps."
            }
            Self::Other => {
                "Launch fewer and larger kernels: torch.compile fuses them, a CUDA graph (mode=\"reduce-overhead\") launches all in \
                 one call, larger batches give each more to do."
            }
        }
    }
}

fn is_most(part: Ns, whole: Ns) -> bool {
    MAJORITY * whole.as_f64() <= part.as_f64()
}

fn operators(books: &LineBooks, is_meant: impl Fn(&str) -> bool) -> Ns {
    books.operators.iter().filter(|(name, _)| is_meant(name)).map(|(_, it)| it.cpu).sum()
}

fn operators_named(books: &LineBooks, start: &str, end: &str) -> Ns {
    operators(books, |name| name.starts_with(start) && name.ends_with(end))
}

/// Whether the line is the step of an optimizer: most of it is that call, or PyTorch's optimizers are seen below it.
fn is_optimizer(books: &LineBooks) -> bool {
    let steps = time_in_calls(books, is_optimizer_step);
    let is_called = Ns::ZERO < steps && is_most(steps, books.cpu_total);
    is_called || books.patterns.contains_key(&Pattern::OptimizerSingleTensor)
}

/// Whether a call goes to `torch.optim`, or makes the step of an optimizer that a scaler of gradients or a library holds.
fn is_optimizer_step(name: &str) -> bool {
    let is_other = ["lr_scheduler", "swa_utils", "zero_grad"].iter().any(|it| name.contains(it));
    let holds_one = name.contains("grad_scaler.py(") || name.contains("optimizer.py(");
    !is_other && (is_of_torch(name, "optim/") || holds_one && name.ends_with(": step"))
}

/// Time in calls from the line whose name as recorded is meant.
fn time_in_calls(books: &LineBooks, is_meant: impl Fn(&str) -> bool) -> Ns {
    books.callees.iter().filter(|(name, _)| is_meant(name)).map(|(_, it)| it.cpu).sum()
}

/// Whether a call is one of a function below a folder of PyTorch.
fn is_of_torch(name: &str, folder: &str) -> bool {
    let name = name.replace('\\', "/");
    let mut parts = name.split("torch/");
    let before = parts.next().unwrap_or_default();
    (before.is_empty() || before.ends_with('/')) && parts.any(|it| it.starts_with(folder))
}

/// Time of the line below PyTorch: its modules, optimizers, the autograd engine, graphs, and operators that launch something. The
/// loading of data is left out.
pub(super) fn time_in_torch(books: &LineBooks) -> Ns {
    let calls = time_in_calls(books, |name| {
        let is_function = is_of_torch(name, "") && !is_of_torch(name, "utils/data/");
        is_function || name.starts_with("nn.Module: ") || name.contains("torch._C")
    });
    let launching = books.operators.values().filter(|it| Ns::ZERO < it.cuda);
    calls + launching.map(|it| it.cpu).sum::<Ns>()
}
