//! ReplacedNames that are everybody's: of PyTorch, of Python, of the formats. All others are taken for the user's.

/// Built-in functions and methods of Python and PyTorch, one a line.
const FUNCTIONS: &str = include_str!("../data/public_functions.txt");

/// Modules of the standard library that a user's file or folder may well be called like: of these the name stays, and what is in
/// them does not.
const AMBIGUOUS: &[&str] = &[
    "calendar",
    "chunk",
    "cmd",
    "code",
    "copy",
    "formatter",
    "graphlib",
    "imp",
    "numbers",
    "parser",
    "platform",
    "profile",
    "random",
    "resource",
    "secrets",
    "select",
    "site",
    "statistics",
    "string",
    "symbol",
    "test",
    "this",
    "token",
    "trace",
    "turtle",
    "types",
];

/// Top-level packages of which everything stays.
const PYTORCH: &[&str] = &["torch", "torchvision", "torchaudio", "torchgen", "functorch", "triton"];

/// Classes of `torch.nn` and of the wrappers of PyTorch.
const MODULES: &str = "\
    AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AlphaDropout AvgPool1d \
    AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss BatchNorm1d BatchNorm2d BatchNorm3d Bilinear CELU CTCLoss \
    CheckpointWrapper ConstantPad1d ConstantPad2d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d \
    CosineEmbeddingLoss CosineSimilarity CrossEntropyLoss DataParallel DistributedDataParallel Dropout Dropout1d \
    Dropout2d Dropout3d ELU Embedding EmbeddingBag FeatureAlphaDropout Flatten Fold FullyShardedDataParallel GELU GLU \
    GRU GRUCell GaussianNLLLoss GraphModule GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh HingeEmbeddingLoss \
    HuberLoss Identity InstanceNorm1d InstanceNorm2d InstanceNorm3d KLDivLoss L1Loss LPPool2d LSTM LSTMCell LayerNorm \
    LazyLinear LeakyReLU Linear LocalResponseNorm LogSigmoid LogSoftmax MSELoss MarginRankingLoss MaxPool1d MaxPool2d \
    MaxPool3d MaxUnpool2d Mish ModuleDict ModuleList MultiLabelMarginLoss MultiMarginLoss MultiheadAttention NLLLoss \
    OptimizedModule PReLU PairwiseDistance ParameterDict ParameterList PixelShuffle PixelUnshuffle PoissonNLLLoss \
    RMSNorm RNN RNNCell RReLU ReLU ReLU6 ReflectionPad1d ReflectionPad2d ReplicationPad2d SELU Sequential SiLU Sigmoid \
    SmoothL1Loss SoftMarginLoss Softmax Softmax2d Softmin Softplus Softshrink Softsign SyncBatchNorm Tanh Tanhshrink \
    Threshold Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer \
    TripletMarginLoss Unflatten Unfold Upsample UpsamplingBilinear2d UpsamplingNearest2d ZeroPad2d";

/// Optimizers of `torch.optim`.
const OPTIMIZERS: &[&str] = &[
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
    "ZeroRedundancyOptimizer",
];

/// Namespaces of operators that PyTorch and its back ends register.
const NAMESPACES: &[&str] = &[
    "aten",
    "autograd",
    "c10",
    "c10d",
    "_c10d_functional",
    "c10d_functional",
    "fbgemm",
    "fsdp",
    "inductor",
    "mkldnn",
    "onednn",
    "prim",
    "prims",
    "profiler",
    "quantized",
    "rngprims",
    "symm_mem",
    "torch",
    "torch.distributed.ddp.reducer",
];

/// Types of Python and PyTorch that have built-in methods.
const TYPES: &[&str] = &[
    "FakeTensor",
    "FunctionMeta",
    "Parameter",
    "PyCapsule",
    "Random",
    "Tensor",
    "_ParameterMeta",
    "bytearray",
    "bytes",
    "code",
    "dict",
    "float",
    "frozenset",
    "function",
    "generator",
    "int",
    "list",
    "mappingproxy",
    "memoryview",
    "module",
    "object",
    "set",
    "socket",
    "str",
    "tuple",
    "type",
];

/// What the names of types begin with that are in modules of Python, PyTorch and NumPy.
const TYPE_MODULES: &[&str] = &[
    "_abc.",
    "_asyncio.",
    "_contextvars.",
    "_hashlib.",
    "_io.",
    "_multiprocessing.",
    "_queue.",
    "_random.",
    "_socket.",
    "_ssl.",
    "_struct.",
    "_thread.",
    "array.",
    "builtins.",
    "collections.",
    "datetime.",
    "functools.",
    "itertools.",
    "numpy.",
    "pybind11_builtins.",
    "re.",
    "select.",
    "torch.",
];

/// ReplacedNames of functions in Python that PyTorch asks for, and of code that has no other name.
const PROTOCOL: &[&str] = &[
    "<dictcomp>",
    "<genexpr>",
    "<lambda>",
    "<listcomp>",
    "<locals>",
    "<module>",
    "<setcomp>",
    "backward",
    "forward",
    "main",
    "setup_context",
];

/// Parts of the names of kernels that libraries of NVIDIA, AMD and PyTorch begin with, after `void `.
const KERNEL_LIBRARIES: &[&str] = &[
    "Cijk_",
    "ampere_",
    "at::",
    "at_cuda_detail::",
    "bn_fw",
    "bn_bw",
    "c10d::",
    "cask_",
    "cub::",
    "cublas",
    "cudnn",
    "cutlass",
    "fmha_",
    "gemmSN_",
    "gemmk1_",
    "gemv",
    "hipcub::",
    "implicit_convolve",
    "internal::gemvx",
    "miopen",
    "nccl",
    "nvjet_",
    "pytorch_flash::",
    "rocblas",
    "rocprim::",
    "sm100_",
    "sm70_",
    "sm75_",
    "sm80_",
    "sm86_",
    "sm89_",
    "sm90_",
    "splitKreduce",
    "thrust::",
    "turing_",
    "volta_",
    "cunn_",
    "flash::",
    "flash_fwd",
    "flash_bwd",
    "attn_fwd",
];

/// ReplacedNames of C++ that stay in the name of a kernel: of the language, of CUDA, and the namespaces of the libraries.
const CPP: &[&str] = &[
    "bool",
    "char",
    "const",
    "double",
    "false",
    "float",
    "half",
    "int",
    "lambda",
    "long",
    "operator",
    "short",
    "signed",
    "true",
    "unsigned",
    "void",
    "instance",
    "__half",
    "__nv_bfloat16",
    "nv_bfloat16",
    "int64_t",
    "uint8_t",
];
const CPP_NAMESPACES: &[&str] = &[
    "at",
    "at_cuda_detail",
    "c10",
    "c10d",
    "cub",
    "cublasLt",
    "cudnn",
    "cute",
    "cutlass",
    "flash",
    "hipcub",
    "internal",
    "pytorch_flash",
    "rocprim",
    "std",
    "thrust",
    "cuda",
];

/// Whether `name` is a built-in function or method.
pub(crate) fn is_function(name: &str) -> bool {
    is_dunder(name) || FUNCTIONS.lines().any(|it| it == name)
}

/// Whether Python or PyTorch calls code so, whoever wrote it.
pub(crate) fn is_protocol(name: &str) -> bool {
    is_dunder(name) || PROTOCOL.contains(&name)
}

fn is_dunder(name: &str) -> bool {
    const DUNDERS: &str = "\
        __bool__ __build_class__ __call__ __contains__ __del__ __delattr__ __delitem__ __enter__ __eq__ __exit__ __ge__ __get__ \
        __getattr__ __getattribute__ __getitem__ __getitems__ __gt__ __hash__ __index__ __init__ __init_subclass__ \
        __instancecheck__ __iter__ __le__ __len__ __lt__ __matmul__ __mul__ __ne__ __new__ __next__ __post_init__ __prepare__ \
        __reduce__ __reduce_ex__ __repr__ __rsub__ __set__ __set_name__ __setattr__ __setitem__ __setstate__ __str__ __sub__ \
        __subclasscheck__ __torch_dispatch__ __torch_function__ __add__ __radd__ __truediv__ __neg__ __getstate__";
    name.starts_with("__") && DUNDERS.split(' ').any(|it| it == name)
}

pub(crate) fn is_module_class(name: &str) -> bool {
    MODULES.split(' ').any(|it| it == name)
}

pub(crate) fn is_optimizer(name: &str) -> bool {
    OPTIMIZERS.contains(&name)
}

pub(crate) fn is_namespace(name: &str) -> bool {
    NAMESPACES.contains(&name)
}

pub(crate) fn is_type(name: &str) -> bool {
    TYPES.contains(&name) || TYPE_MODULES.iter().any(|it| name.starts_with(it))
}

pub(crate) fn is_kernel_of_library(name: &str) -> bool {
    let name = name.strip_prefix("void ").unwrap_or(name);
    KERNEL_LIBRARIES.iter().any(|it| name.starts_with(it))
}

pub(crate) fn is_cpp_word(word: &str) -> bool {
    CPP.contains(&word)
}

pub(crate) fn is_cpp_namespace(word: &str) -> bool {
    CPP_NAMESPACES.contains(&word)
}

/// How much of the path of a library stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KnownPackage {
    /// It is PyTorch's or Python's: everything.
    Whole,
    /// Its own name.
    Name,
    /// Nothing: it is none.
    No,
}

/// What `top`, the first part of a path without its ending, is.
pub(crate) fn package(top: &str) -> KnownPackage {
    if PYTORCH.contains(&top) {
        KnownPackage::Whole
    } else if AMBIGUOUS.contains(&top) {
        KnownPackage::Name
    } else if recorded::STANDARD_LIBRARY.contains(top) {
        KnownPackage::Whole
    } else if recorded::KNOWN_PACKAGES.contains(top) || recorded::PLUMBING_PACKAGES.contains(top) {
        KnownPackage::Name
    } else {
        KnownPackage::No
    }
}
