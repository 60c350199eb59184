//! What names of events mean to the patterns: each distinct name is looked at once.

use profile::Profile;
use recorded::{Frame, is_inductor_file};

/// What a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameClass {
    /// Nothing.
    Other,
    /// A Python frame.
    Frame,
    /// A call of an `nn.Module`.
    Module,
    /// `aten::select`.
    Select,
    /// `aten::to`.
    To,
    /// Makes a tensor.
    Factory,
    /// Fills one.
    Fill,
    /// Fills one with zeros.
    Zero,
    /// `aten::add_`.
    AddInPlace,
    /// Another operator that changes a tensor in place or measures one, and of which there is one over lists.
    Update,
    /// Python's garbage collector (`record_python_gc_info=True`).
    GarbageCollection,
    /// A convolution.
    Convolution,
    /// A batch normalization.
    BatchNorm,
    /// A frame or range of `zero_grad`.
    ZeroGrad,
    /// A frame of an optimizer that takes one parameter after the other.
    SingleTensor,
    /// The range of a step of one of PyTorch's own optimizers.
    OptimizerStep,
    /// An operator over a list of tensors.
    Foreach,
    /// The range in which a batch is waited for: made by workers, or not.
    DataLoader { has_workers: bool },
    /// `torch.compile` compiles.
    Compilation,
    /// `torch.compile` looks for what it has compiled.
    CacheLookup,
    /// Compiled code runs, in its version with this number.
    CompiledRegion { frame: u32, version: u32 },
    /// A frame in a file that Inductor generated.
    Generated,
    /// The frame of the rest of a function after what could not be compiled, on the frame's line.
    Resumed,
    /// `nn.DataParallel.forward`.
    DataParallel,
    /// Its handing out and collecting.
    DataParallelPart,
    /// `aten::_to_cpu`: what a fallback begins with.
    ToCpu,
}

/// The classes of all names of a recording, by string.
pub(super) fn name_classes(profile: &Profile) -> Vec<NameClass> {
    let has_device = !profile.device.is_empty();
    profile.strings.iter().map(|(_, name)| class(name, has_device)).collect()
}

/// Optimizers of PyTorch that have an implementation over lists.
const OPTIMIZERS: [&str; 11] = [
    "Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD",
    "Rprop",
];

/// Those that can run as one kernel (`fused=True`), in the names of their functions. That pays on a CPU as well; lists do not.
const WITH_FUSED: [&str; 4] = ["adam", "adamw", "sgd", "adagrad"];

/// Whether an optimizer that takes one parameter after the other could do better.
fn could_take_lists(optimizer: &str, has_device: bool) -> bool {
    has_device || WITH_FUSED.contains(&optimizer.to_ascii_lowercase().as_str())
}

fn class(name: &str, has_device: bool) -> NameClass {
    if let Some(operator) = name.strip_prefix("aten::") {
        return of_operator(operator);
    }
    // Up to torch 2.1 `<resume in forward>`.
    if name.contains("): torch_dynamo_resume_in_") || name.contains("): <resume in ") {
        return NameClass::Resumed;
    }
    if let Some(frame) = Frame::parse(name) {
        return of_frame(&frame, has_device);
    }
    if name.starts_with("nn.Module: ") {
        return NameClass::Module;
    }
    if let Some(loader) = name.strip_prefix("enumerate(DataLoader)#") {
        return NameClass::DataLoader { has_workers: !loader.starts_with("_SingleProcess") };
    }
    if name.starts_with("Optimizer.zero_grad#") {
        return NameClass::ZeroGrad;
    }
    if let Some(step) = name.strip_prefix("Optimizer.step#") {
        let class = step.strip_suffix(".step").unwrap_or(step);
        return if OPTIMIZERS.contains(&class) && could_take_lists(class, has_device) {
            NameClass::OptimizerStep
        } else {
            NameClass::Other
        };
    }
    if let Some(region) = name.strip_prefix("Torch-Compiled Region: ") {
        let numbers = region.split_once('/').unwrap_or((region, ""));
        let [frame, version] = [numbers.0, numbers.1].map(|it| it.parse().unwrap_or(0));
        return NameClass::CompiledRegion { frame, version };
    }
    match name {
        "Python GC" => NameClass::GarbageCollection,
        "TorchDynamo Cache Lookup" => NameClass::CacheLookup,
        "entire_frame_compile" | "_compile.compile_inner" | "entire_backward_compile" => {
            NameClass::Compilation
        }
        _ => NameClass::Other,
    }
}

fn of_operator(name: &str) -> NameClass {
    match name {
        "select" => NameClass::Select,
        "to" => NameClass::To,
        "rand" | "randn" | "randint" | "zeros" | "ones" | "full" | "eye" | "linspace"
        | "arange" => NameClass::Factory,
        "fill_" | "uniform_" | "normal_" | "random_" => NameClass::Fill,
        "zero_" | "_foreach_zero_" => NameClass::Zero,
        "add_" => NameClass::AddInPlace,
        "mul_" | "sub_" | "div_" | "lerp_" | "addcmul_" | "addcdiv_" | "copy_" | "clamp_"
        | "neg_" | "sqrt_" | "linalg_vector_norm" => NameClass::Update,
        "conv1d" | "conv2d" | "conv3d" => NameClass::Convolution,
        "batch_norm" => NameClass::BatchNorm,
        "_to_cpu" => NameClass::ToCpu,
        _ if name.starts_with("_foreach_") || name.starts_with("_fused_") => NameClass::Foreach,
        _ => NameClass::Other,
    }
}

fn of_frame(frame: &Frame<'_>, has_device: bool) -> NameClass {
    let (file, function) = (frame.file.replace('\\', "/"), frame.function);
    let is_in = |folder: &str| file.contains(folder);
    match function {
        "zero_grad" => NameClass::ZeroGrad,
        "_compile" if is_in("torch/_dynamo/") => NameClass::Compilation,
        "forward" if file.ends_with("torch/nn/parallel/data_parallel.py") => {
            NameClass::DataParallel
        }
        "replicate" | "scatter_kwargs" | "gather" if is_in("torch/nn/parallel/") => {
            NameClass::DataParallelPart
        }
        _ if is_inductor_file(&file) => NameClass::Generated,
        _ => match function.strip_prefix("_single_tensor_") {
            Some(optimizer) if is_in("torch/optim/") && could_take_lists(optimizer, has_device) => {
                NameClass::SingleTensor
            }
            _ => NameClass::Frame,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let rows = [
            ("aten::select", NameClass::Select),
            ("aten::selected", NameClass::Other),
            ("aten::lerp_", NameClass::Update),
            ("aten::lerp", NameClass::Other),
            ("Python GC", NameClass::GarbageCollection),
            ("aten::_foreach_add_", NameClass::Foreach),
            ("train.py(3): f", NameClass::Frame),
            ("torch/optim/adam.py(348): _single_tensor_adam", NameClass::SingleTensor),
            ("mine.py(3): _single_tensor_adam", NameClass::Frame),
            (r"C:\env\torch\optim\sgd.py(3): _single_tensor_sgd", NameClass::SingleTensor),
            ("Optimizer.step#Adam.step", NameClass::OptimizerStep),
            ("Optimizer.step#Lion.step", NameClass::Other),
            (
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                NameClass::DataLoader { has_workers: false },
            ),
            (
                "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                NameClass::DataLoader { has_workers: true },
            ),
            ("m.py(56): torch_dynamo_resume_in_forward_at_56", NameClass::Resumed),
            ("m.py(56): <resume in forward>", NameClass::Resumed),
            ("entire_backward_compile", NameClass::Compilation),
            ("Torch-Compiled Region: 3/12", NameClass::CompiledRegion { frame: 3, version: 12 }),
            (
                "/tmp/t/4z/c4z76kcfplyj6oqxvqvx3n4ydi6cfdyxkd3zmm3kxv4jn3vt5qnq.py(98): call",
                NameClass::Generated,
            ),
            ("torch/nn/parallel/data_parallel.py(163): forward", NameClass::DataParallel),
            ("torch/nn/parallel/replicate.py(88): replicate", NameClass::DataParallelPart),
            ("nn.Module: Conv2d_0", NameClass::Module),
        ];
        for (name, expected) in rows {
            assert_eq!(class(name, true), expected, "{name}");
        }
        // On a CPU only what `fused=True` is offered by.
        for (name, with_device, without) in [
            (
                "torch/optim/rmsprop.py(254): _single_tensor_rmsprop",
                NameClass::SingleTensor,
                NameClass::Frame,
            ),
            ("Optimizer.step#RMSprop.step", NameClass::OptimizerStep, NameClass::Other),
            ("Optimizer.step#AdamW.step", NameClass::OptimizerStep, NameClass::OptimizerStep),
        ] {
            assert_eq!((class(name, true), class(name, false)), (with_device, without), "{name}");
        }
    }
}
