//! What names of events mean to the patterns: each distinct name is looked at once.

use profile::Profile;
use recorded::Frame;

/// What a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
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
    CompiledRegion { version: u32 },
    /// The frame of the rest of a function after what could not be compiled, on the frame's line.
    Resumed,
    /// `nn.DataParallel.forward`.
    DataParallel,
    /// Its handing out and collecting.
    DataParallelPart,
    /// `aten::_to_cpu`: what a fallback begins with.
    ToCpu,
}

/// The words of all names of a recording, by string.
pub(super) fn words(profile: &Profile) -> Vec<Word> {
    profile.strings.iter().map(|(_, name)| word(name)).collect()
}

/// Optimizers of PyTorch that have an implementation over lists.
const OPTIMIZERS: [&str; 11] = [
    "Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD",
    "Rprop",
];

fn word(name: &str) -> Word {
    if let Some(operator) = name.strip_prefix("aten::") {
        return of_operator(operator);
    }
    // Up to torch 2.1 `<resume in forward>`.
    if name.contains("): torch_dynamo_resume_in_") || name.contains("): <resume in ") {
        return Word::Resumed;
    }
    if let Some(frame) = Frame::parse(name) {
        return of_frame(&frame);
    }
    if name.starts_with("nn.Module: ") {
        return Word::Module;
    }
    if let Some(loader) = name.strip_prefix("enumerate(DataLoader)#") {
        return Word::DataLoader { has_workers: !loader.starts_with("_SingleProcess") };
    }
    if name.starts_with("Optimizer.zero_grad#") {
        return Word::ZeroGrad;
    }
    if let Some(step) = name.strip_prefix("Optimizer.step#") {
        let class = step.strip_suffix(".step").unwrap_or(step);
        return if OPTIMIZERS.contains(&class) { Word::OptimizerStep } else { Word::Other };
    }
    if let Some(region) = name.strip_prefix("Torch-Compiled Region: ") {
        let version = region.split_once('/').and_then(|(_, version)| version.parse().ok());
        return Word::CompiledRegion { version: version.unwrap_or(0) };
    }
    match name {
        "TorchDynamo Cache Lookup" => Word::CacheLookup,
        "entire_frame_compile" | "_compile.compile_inner" => Word::Compilation,
        _ => Word::Other,
    }
}

fn of_operator(name: &str) -> Word {
    match name {
        "select" => Word::Select,
        "to" => Word::To,
        "rand" | "randn" | "randint" | "zeros" | "ones" | "full" | "eye" | "linspace"
        | "arange" => Word::Factory,
        "fill_" | "uniform_" | "normal_" | "random_" => Word::Fill,
        "zero_" | "_foreach_zero_" => Word::Zero,
        "add_" => Word::AddInPlace,
        "conv1d" | "conv2d" | "conv3d" => Word::Convolution,
        "batch_norm" => Word::BatchNorm,
        "_to_cpu" => Word::ToCpu,
        _ if name.starts_with("_foreach_") || name.starts_with("_fused_") => Word::Foreach,
        _ => Word::Other,
    }
}

fn of_frame(frame: &Frame<'_>) -> Word {
    let (file, function) = (frame.file.replace('\\', "/"), frame.function);
    let is_in = |folder: &str| file.contains(folder);
    match function {
        "zero_grad" => Word::ZeroGrad,
        "_compile" if is_in("torch/_dynamo/") => Word::Compilation,
        "forward" if file.ends_with("torch/nn/parallel/data_parallel.py") => Word::DataParallel,
        "replicate" | "scatter_kwargs" | "gather" if is_in("torch/nn/parallel/") => {
            Word::DataParallelPart
        }
        _ if function.starts_with("_single_tensor_") && is_in("torch/optim/") => Word::SingleTensor,
        _ => Word::Frame,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let rows = [
            ("aten::select", Word::Select),
            ("aten::selected", Word::Other),
            ("aten::_foreach_add_", Word::Foreach),
            ("train.py(3): f", Word::Frame),
            ("torch/optim/adam.py(348): _single_tensor_adam", Word::SingleTensor),
            ("mine.py(3): _single_tensor_adam", Word::Frame),
            (r"C:\env\torch\optim\sgd.py(3): _single_tensor_sgd", Word::SingleTensor),
            ("Optimizer.step#Adam.step", Word::OptimizerStep),
            ("Optimizer.step#Lion.step", Word::Other),
            (
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                Word::DataLoader { has_workers: false },
            ),
            (
                "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                Word::DataLoader { has_workers: true },
            ),
            ("m.py(56): torch_dynamo_resume_in_forward_at_56", Word::Resumed),
            ("m.py(56): <resume in forward>", Word::Resumed),
            ("Torch-Compiled Region: 3/12", Word::CompiledRegion { version: 12 }),
            ("torch/nn/parallel/data_parallel.py(163): forward", Word::DataParallel),
            ("torch/nn/parallel/replicate.py(88): replicate", Word::DataParallelPart),
            ("nn.Module: Conv2d_0", Word::Module),
        ];
        for (name, expected) in rows {
            assert_eq!(word(name), expected, "{name}");
        }
    }
}
