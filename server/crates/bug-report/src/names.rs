//! One name for another, always the same one.

use std::borrow::Cow;

use recorded::{Frame, compiled_graph, work_of_server};
use rustc_hash::FxHashMap;

use crate::public_names::{self as public, KnownPackage};

/// What a name is of, which says how its replacement begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReplacedKind {
    /// A folder, `d1`.
    Folder,
    /// A file, `f1`.
    File,
    /// A function in Python or a built-in one, `fn1`.
    Function,
    /// A class in Python, or a type with built-in methods, `C1`.
    Class,
    /// An operator, its namespace, or a node of autograd, `op1`.
    Operator,
    /// An annotation (`record_function`), `range1`.
    Range,
    /// A kernel, or a part of its name, `kernel1`.
    Kernel,
    /// A part of the name of a module of the model, `m1`.
    Module,
    /// A key, `key1`.
    Key,
    /// Any other text, `text1`.
    Text,
}

impl ReplacedKind {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 10] = [
        Self::Folder,
        Self::File,
        Self::Function,
        Self::Class,
        Self::Operator,
        Self::Range,
        Self::Kernel,
        Self::Module,
        Self::Key,
        Self::Text,
    ];

    /// What so many names of the kind are called.
    #[must_use]
    pub fn name(self, count: usize) -> &'static str {
        let [one, many] = match self {
            Self::Folder => ["folder", "folders"],
            Self::File => ["file", "files"],
            Self::Function => ["function", "functions"],
            Self::Class => ["class", "classes"],
            Self::Operator => ["operator", "operators"],
            Self::Range => ["annotation", "annotations"],
            Self::Kernel => ["kernel", "kernels"],
            Self::Module => ["module", "modules"],
            Self::Key => ["key", "keys"],
            Self::Text => ["text", "texts"],
        };
        if count == 1 { one } else { many }
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Folder => "d",
            // A short one would be found again in other projects.
            Self::File => "replaced",
            Self::Function => "fn",
            Self::Class => "C",
            Self::Operator => "op",
            Self::Range => "range",
            Self::Kernel => "kernel",
            Self::Module => "m",
            Self::Key => "key",
            Self::Text => "text",
        }
    }
}

/// The replacements that were given out. A name that is everybody's (PyTorch's, Python's) is its own replacement.
#[derive(Debug, Default)]
pub struct ReplacedNames {
    given: FxHashMap<(ReplacedKind, String), String>,
    /// Events of Python come again and again.
    events: FxHashMap<String, String>,
    counts: [usize; ReplacedKind::ALL.len()],
}

impl ReplacedNames {
    /// How many names of a kind were replaced.
    #[must_use]
    pub fn count(&self, kind: ReplacedKind) -> usize {
        self.counts[kind as usize]
    }

    fn new_name(&mut self, kind: ReplacedKind, name: &str) -> String {
        if let Some(known) = self.given.get(&(kind, name.to_owned())) {
            return known.clone();
        }
        let count = &mut self.counts[kind as usize];
        *count += 1;
        let new = format!("{}{count}", kind.prefix());
        self.given.insert((kind, name.to_owned()), new.clone());
        new
    }

    /// The path of a source file as recorded. Folders and files of the user get new names; what says that a file is a library's, and
    /// which one, stays.
    pub fn path(&mut self, path: &str) -> String {
        if let Some(inside) = path.strip_prefix('<') {
            return self.generated(inside);
        }
        let separators: Vec<char> = path.chars().filter(|&it| is_separator(it)).collect();
        let parts: Vec<&str> = path.split(is_separator).collect();
        // Of a library everything behind the folder of libraries is its own.
        let library = parts.iter().rposition(|it| matches!(*it, "site-packages" | "dist-packages"));
        let library = library.or_else(|| parts.iter().rposition(|it| is_python_folder(it)));
        let first = library.map_or(0, |it| it + 1);
        let package = parts
            .get(first)
            .map_or(KnownPackage::No, |it| public::package(it.strip_suffix(".py").unwrap_or(it)));
        let mut new = String::new();
        for (index, part) in parts.iter().enumerate() {
            let is_last = index + 1 == parts.len();
            let is_package = first <= index && package == KnownPackage::Whole
                || index == first && package == KnownPackage::Name;
            if is_package || stays_in_path(part, is_last) {
                new.push_str(part);
            } else if is_last {
                new.push_str(&self.file(part));
            } else if let Some(user) = part.strip_prefix("torchinductor_") {
                new.push_str("torchinductor_");
                new.push_str(&self.new_name(ReplacedKind::Folder, user));
            } else {
                new.push_str(&self.new_name(ReplacedKind::Folder, part));
            }
            new.extend(separators.get(index));
        }
        new
    }

    fn file(&mut self, name: &str) -> String {
        let (stem, ending) = match name.rsplit_once('.') {
            Some((stem, ending)) if ENDINGS.contains(&ending) => (stem, &name[stem.len()..]),
            _ => (name, ""),
        };
        let (prefix, stem) = match stem.strip_prefix("fx_generated__") {
            Some(rest) => ("fx_generated__", rest),
            None => ("", stem),
        };
        format!("{prefix}{}{ending}", self.new_name(ReplacedKind::File, stem))
    }

    /// What Python calls code that is in no file, behind its `<`.
    fn generated(&mut self, inside: &str) -> String {
        let name = inside.strip_suffix('>').unwrap_or(inside);
        if is_frozen(name)
            || matches!(
                name,
                "string"
                    | "stdin"
                    | "unknown"
                    | "eval_with_key>.0"
                    | "__array_function__ internals"
            )
        {
            return format!("<{inside}");
        }
        format!("<{}>", self.new_name(ReplacedKind::File, name))
    }

    /// The name of a function in the file `path`, as recorded.
    pub fn function(&mut self, path: &str, function: &str) -> String {
        if is_of_pytorch_or_python(path) {
            return function.to_owned();
        }
        let cell = function.strip_prefix("<cell line: ").and_then(|it| it.strip_suffix('>'));
        if cell.is_some_and(is_number) {
            return function.to_owned();
        }
        if let Some(resumed) = function.strip_prefix("torch_dynamo_resume_in_")
            && let Some((name, line)) = resumed.rsplit_once("_at_").filter(|it| is_number(it.1))
        {
            let name = self.function(path, name);
            return format!("torch_dynamo_resume_in_{name}_at_{line}");
        }
        let parts: Vec<String> = function
            .split('.')
            .map(|it| match public::is_protocol(it) {
                true => it.to_owned(),
                false => self.new_name(ReplacedKind::Function, it),
            })
            .collect();
        parts.join(".")
    }

    /// `file(line): function`, as events and call stacks spell it; `None` of anything else.
    pub fn frame(&mut self, name: &str) -> Option<String> {
        Frame::parse(name)?;
        let (head, function) = name.rsplit_once("): ")?;
        let (path, line) = head.rsplit_once('(')?;
        Some(format!("{}({line}): {}", self.path(path), self.function(path, function)))
    }

    /// `file:line`.
    pub fn caller(&mut self, caller: &str) -> String {
        match recorded::parse_caller(caller) {
            Some((path, line)) => format!("{}:{line}", self.path(path)),
            None => self.text(caller),
        }
    }

    /// The name of an event of Python: a frame, a module, a built-in function.
    pub fn python_event(&mut self, name: &str) -> String {
        if let Some(known) = self.events.get(name) {
            return known.clone();
        }
        let new = self.new_python_event(name);
        self.events.insert(name.to_owned(), new.clone());
        new
    }

    fn new_python_event(&mut self, name: &str) -> String {
        if let Some(frame) = self.frame(name) {
            return frame;
        }
        if let Some(module) = name.strip_prefix("nn.Module: ") {
            let (class, number) = match module.rsplit_once('_').filter(|it| is_number(it.1)) {
                Some((class, _)) => (class, &module[class.len()..]),
                None => (module, ""),
            };
            return format!("nn.Module: {}{number}", self.module_class(class));
        }
        let inner = name.strip_prefix('<').and_then(|it| it.strip_suffix('>'));
        let Some(inner) = inner else {
            return if name == "Python GC" { name.to_owned() } else { self.text(name) };
        };
        if let Some(function) = inner.strip_prefix("built-in function ") {
            return format!("<built-in function {}>", self.built_in(function));
        }
        if let Some(method) = inner.strip_prefix("built-in method ") {
            let (function, owner) = method.split_once(" of ").unwrap_or((method, ""));
            let (owner, address) = match owner.split_once(" object at ") {
                Some((owner, address)) if is_plain(address) => {
                    (owner, format!(" object at {address}"))
                }
                _ => (owner, String::new()),
            };
            let of =
                if owner.is_empty() { String::new() } else { format!(" of {}", self.owner(owner)) };
            return format!("<built-in method {}{of}{address}>", self.built_in(function));
        }
        if let Some((function, owner)) =
            inner.strip_prefix("method '").and_then(|it| it.split_once("' of '"))
        {
            let owner = owner.strip_suffix("' objects").unwrap_or(owner);
            return format!(
                "<method '{}' of '{}' objects>",
                self.built_in(function),
                self.owner(owner)
            );
        }
        self.text(name)
    }

    fn built_in(&mut self, function: &str) -> String {
        if function.is_empty() || public::is_function(function) {
            return function.to_owned();
        }
        self.new_name(ReplacedKind::Function, function)
    }

    fn owner(&mut self, owner: &str) -> String {
        if public::is_type(owner) {
            owner.to_owned()
        } else {
            self.new_name(ReplacedKind::Class, owner)
        }
    }

    fn module_class(&mut self, class: &str) -> String {
        if public::is_module_class(class) {
            class.to_owned()
        } else {
            self.new_name(ReplacedKind::Class, class)
        }
    }

    /// What a model calls a module of it.
    pub fn module(&mut self, name: &str) -> String {
        let part = |it: &str| match it {
            _ if is_number(it) || public::is_module_class(it) => it.to_owned(),
            _ => self.new_name(ReplacedKind::Module, it),
        };
        name.split('.').map(part).collect::<Vec<_>>().join(".")
    }

    /// The name of an operator, or of an annotation where PyTorch has no category for them.
    pub fn operator(&mut self, name: &str) -> String {
        if let Some(known) = self.range_of_pytorch(name) {
            return known;
        }
        let evaluate = "autograd::engine::evaluate_function: ";
        if let Some(node) = name.strip_prefix(evaluate) {
            return format!("{evaluate}{}", self.operator(node));
        }
        if let Some((namespace, rest)) = name.split_once("::") {
            if public::is_namespace(namespace) && rest.chars().all(is_in_identifier_or_path) {
                return name.to_owned();
            }
            let namespace = self.new_name(ReplacedKind::Operator, namespace);
            return format!("{namespace}::{}", self.new_name(ReplacedKind::Operator, rest));
        }
        // Nodes of autograd that PyTorch generates have a number.
        let is_generated = name.rsplit_once("Backward").is_some_and(|(before, number)| {
            is_number(number) && before.chars().all(|it| it.is_ascii_alphanumeric())
        });
        if is_generated || ["detach", "detach_", "[memory]", "record_param_comms"].contains(&name) {
            return name.to_owned();
        }
        match name.strip_suffix("Backward") {
            Some(function) if !function.is_empty() => {
                format!("{}Backward", self.autograd_function(function))
            }
            _ => self.autograd_function(name),
        }
    }

    fn autograd_function(&mut self, name: &str) -> String {
        const KNOWN: [&str; 4] =
            ["AccumulateGrad", "BackwardHookFunction", "CheckpointFunction", "CompiledFunction"];
        if KNOWN.contains(&name) {
            name.to_owned()
        } else {
            self.new_name(ReplacedKind::Operator, name)
        }
    }

    /// The name of an annotation.
    pub fn range(&mut self, name: &str) -> String {
        match self.range_of_pytorch(name) {
            Some(known) => known,
            None => self.new_name(ReplacedKind::Range, name),
        }
    }

    /// An annotation that PyTorch makes, with what it says of the user's code replaced.
    fn range_of_pytorch(&mut self, name: &str) -> Option<String> {
        const KNOWN: [&str; 14] = [
            "DataParallel.forward",
            "DistributedDataParallel.forward",
            "FullyShardedDataParallel.forward",
            "Iteration Start: PyTorch Profiler",
            "Optimizer.step",
            "Optimizer.zero_grad",
            "Pregraph bytecode",
            "Record TraceWindow End",
            "TorchDynamo Cache Lookup",
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
            "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
            "AOTDispatcher Runtime Wrapper Prologue",
            "Python GC",
            "Unrecognized",
        ];
        if KNOWN.contains(&name) {
            return Some(name.to_owned());
        }
        if work_of_server(name).is_some() && has_words_of_servers_only(name) {
            return Some(name.to_owned());
        }
        for prefix in ["ProfilerStep#", "Torch-Compiled Region: ", "PyTorch Profiler ("] {
            let rest = name.strip_prefix(prefix);
            if rest.is_some_and(is_plain) {
                return Some(name.to_owned());
            }
        }
        for (prefix, method) in
            [("Optimizer.step#", ".step"), ("Optimizer.zero_grad#", ".zero_grad")]
        {
            if let Some(class) = name.strip_prefix(prefix).and_then(|it| it.strip_suffix(method)) {
                let class = match public::is_optimizer(class) {
                    true => class.to_owned(),
                    false => self.new_name(ReplacedKind::Class, class),
                };
                return Some(format!("{prefix}{class}{method}"));
            }
        }
        for prefix in ["enumerate(DataLoader)#", "enumerate(DataPipe)#"] {
            if let Some(rest) = name.strip_prefix(prefix) {
                return Some(format!("{prefix}{}", self.new_name(ReplacedKind::Class, rest)));
            }
        }
        for prefix in ["nccl:", "gloo:", "rccl:", "mpi:", "ucc:", "hccl:", "xccl:"] {
            if let Some(rest) = name.strip_prefix(prefix) {
                let words = rest.split('_').all(|it| COLLECTIVE_WORDS.contains(&it));
                return Some(match words {
                    true => name.to_owned(),
                    false => format!("{prefix}{}", self.new_name(ReplacedKind::Range, rest)),
                });
            }
        }
        let graph = compiled_graph(name)?;
        Some(format!("## Call CompiledFxGraph {} ##", self.new_name(ReplacedKind::Range, graph)))
    }

    /// The name of a kernel. What its library calls it stays, with all that its class follows from.
    pub fn kernel(&mut self, name: &str) -> String {
        if name.is_empty() || is_copy(name) {
            return name.to_owned();
        }
        if let Some((kind, number)) = name
            .strip_prefix("triton_")
            .and_then(|it| it.split_once('_'))
            .filter(|(kind, _)| ["poi", "red", "per", "tem", "mm", "for"].contains(kind))
            .and_then(|(kind, rest)| {
                Some((kind, rest.rsplit_once('_').filter(|it| is_number(it.1))?.1))
            })
        {
            return format!("triton_{kind}_{}_{number}", self.new_name(ReplacedKind::Kernel, name));
        }
        let parts = recorded::telling_parts(name);
        let new = match public::is_kernel_of_library(name) {
            true => self.kernel_of_library(name),
            false => self.new_name(ReplacedKind::Kernel, name),
        };
        if recorded::telling_parts(&new) == parts {
            return new;
        }
        let number = self.new_name(ReplacedKind::Kernel, name);
        std::iter::once(number.as_str()).chain(parts).collect::<Vec<_>>().join("_")
    }

    fn kernel_of_library(&mut self, name: &str) -> String {
        let first = name.strip_prefix("void ").unwrap_or(name);
        let end = first.find(|it: char| !(it.is_ascii_alphanumeric() || it == '_' || it == ':'));
        let first = &first[..end.unwrap_or(first.len())];
        let mut new = String::with_capacity(name.len());
        let mut rest = name;
        while !rest.is_empty() {
            let end = rest.find(|it: char| !(it.is_alphanumeric() || it == '_' || it == ':'));
            let end = end.unwrap_or(rest.len());
            let (word, other) = match end {
                0 => ("", rest.chars().next().map_or(1, char::len_utf8)),
                end => (&rest[..end], 0),
            };
            if word.is_empty() {
                new.push_str(&rest[..other]);
                rest = &rest[other..];
                continue;
            }
            let root = word.trim_start_matches(':').split("::").next().unwrap_or(word);
            let stays = word == first
                || is_plain(word)
                || public::is_cpp_word(word)
                || public::is_cpp_namespace(root)
                || word.chars().all(|it| it == ':');
            match stays {
                true => new.push_str(word),
                false => {
                    // What comes from a namespace that stays may go on behind a bracket: `…>::lambda`.
                    let colons = word.len() - word.trim_start_matches(':').len();
                    new.push_str(&word[..colons]);
                    new.push_str(&self.new_name(ReplacedKind::Kernel, &word[colons..]));
                }
            }
            rest = &rest[end..];
        }
        new
    }

    /// A category. Those that Perfline knows stay.
    pub fn category(&mut self, category: &str) -> String {
        const KNOWN: [&str; 27] = [
            "",
            "python_function",
            "cpu_op",
            "Operator",
            "cuda_runtime",
            "Runtime",
            "cuda_driver",
            "hpu_op",
            "kernel",
            "Kernel",
            "gpu_memcpy",
            "Memcpy",
            "gpu_memset",
            "Memset",
            "user_annotation",
            "gpu_user_annotation",
            "Trace",
            "Traces",
            "cuda_sync",
            "overhead",
            "cpu_instant_event",
            "external_correlation",
            "cuda_profiler_range",
            "fwdbwd",
            "ac2g",
            "async_cpu_to_gpu",
            "async_gpu",
        ];
        const BACK_ENDS: [&str; 14] = [
            "hip_runtime",
            "xpu_runtime",
            "xpu_driver",
            "mtia_runtime",
            "privateuse1_runtime",
            "privateuse1_driver",
            "npu_kernel",
            "npu",
            "xpu",
            "mtia_ccp_events",
            "concurrent_kernel",
            "gpu_pm_counter",
            "mtia_insight",
            "NVTX",
        ];
        if KNOWN.contains(&category) || BACK_ENDS.contains(&category) {
            return category.to_owned();
        }
        let endings = ["_runtime", "_driver", "memcpy", "memset", "kernel", "nvtx"];
        let lower = category.to_ascii_lowercase();
        let ending = endings.iter().find(|it| lower.ends_with(**it)).copied().unwrap_or_default();
        format!("{}{ending}", self.new_name(ReplacedKind::Text, category))
    }

    /// A key that means nothing to Perfline.
    pub fn key(&mut self, key: &str) -> String {
        self.new_name(ReplacedKind::Key, key)
    }

    /// Any other text. Numbers and lists of numbers stay.
    pub fn text(&mut self, text: &str) -> String {
        if is_plain(text) { text.to_owned() } else { self.new_name(ReplacedKind::Text, text) }
    }

    /// The name of a process group.
    pub fn group(&mut self, name: &str) -> String {
        if matches!(name, "default_pg" | "undefined") { name.to_owned() } else { self.text(name) }
    }

    /// The id or the name of a process or thread.
    pub fn thread<'a>(&mut self, id: &'a str) -> Cow<'a, str> {
        const KNOWN: [&str; 9] = [
            "PyTorch Profiler",
            "Spans",
            "Traces",
            "Trace",
            "python",
            "python3",
            "CPU",
            "",
            "Memory",
        ];
        let number = ["stream ", "GPU ", "thread "].iter().find_map(|it| id.strip_prefix(it));
        if KNOWN.contains(&id) || is_plain(id) || number.is_some_and(is_plain) {
            return Cow::Borrowed(id);
        }
        // `thread 4711 (python)`
        if let Some((number, name)) = id.strip_prefix("thread ").and_then(|it| it.split_once(" ("))
            && is_plain(number)
        {
            let name = name.trim_end_matches(')');
            let known = self.thread(name).into_owned();
            return Cow::Owned(format!("thread {number} ({known})"));
        }
        if let Some((stream, _)) = id.strip_prefix("stream ").and_then(|it| it.split_once(' '))
            && is_plain(stream)
        {
            return Cow::Owned(format!("stream {stream}"));
        }
        Cow::Owned(self.text(id))
    }
}

/// Endings of files that a recording may name.
const ENDINGS: [&str; 7] = ["py", "pyx", "pyi", "pyc", "ipynb", "cpp", "cu"];

/// Words in the names that servers of language models give to their passes: of vLLM, and the `ForwardMode` of SGLang.
const SERVER_WORDS: [&str; 25] = [
    "execute",
    "new",
    "cached",
    "context",
    "generation",
    "sq",
    "sk",
    "sqsq",
    "sqsk",
    "step",
    "bs",
    "toks",
    "forward",
    "id",
    "EXTEND",
    "DECODE",
    "MIXED",
    "IDLE",
    "TARGET",
    "VERIFY",
    "DRAFT",
    "PREBUILT",
    "SPLIT",
    "PREFILL",
    "DLLM",
];

/// Whether a name of which a server says what it did holds nothing else but numbers.
fn has_words_of_servers_only(name: &str) -> bool {
    let mut words = name.split(|it: char| !it.is_alphabetic()).filter(|it| !it.is_empty());
    words.all(|it| SERVER_WORDS.contains(&it))
}

/// What operators of PyTorch between devices are made of.
const COLLECTIVE_WORDS: [&str; 27] = [
    "",
    "all",
    "allgather",
    "allreduce",
    "alltoall",
    "barrier",
    "base",
    "broadcast",
    "coalesced",
    "gather",
    "into",
    "oop",
    "recv",
    "reduce",
    "reducescatter",
    "scatter",
    "send",
    "sparse",
    "tensor",
    "to",
    "any",
    "source",
    "single",
    "ALLREDUCE",
    "p2p",
    "coalesce",
    "list",
];

fn is_separator(it: char) -> bool {
    it == '/' || it == '\\'
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

/// Whether nothing in a text can be a name: digits, an address, marks between them.
fn is_plain(text: &str) -> bool {
    let is_address = |it: &str| it.bytes().all(|byte| byte.is_ascii_hexdigit());
    text.strip_prefix("0x").is_some_and(is_address)
        || text.chars().all(|it| it.is_ascii_digit() || " ,.:;/#+-()[]{}".contains(it))
        || matches!(text, "True" | "False" | "None" | "true" | "false" | "null")
}

fn is_in_identifier_or_path(it: char) -> bool {
    it.is_ascii_alphanumeric() || "_:.".contains(it)
}

/// Whether a name is one of the copies and fills of a device.
fn is_copy(name: &str) -> bool {
    const WORDS: [&str; 16] = [
        "Memcpy",
        "Memset",
        "HtoD",
        "DtoH",
        "DtoD",
        "HtoH",
        "PtoP",
        "Device",
        "Pageable",
        "Pinned",
        "Host",
        "Unified",
        "Array",
        "Unknown",
        "Managed",
        "PeerToPeer",
    ];
    let words = name.split(|it: char| !it.is_ascii_alphanumeric()).filter(|it| !it.is_empty());
    (name.starts_with("Memcpy") || name.starts_with("Memset"))
        && words.clone().all(|it| WORDS.contains(&it))
}

/// Whether a folder is one that Python keeps its standard library in (`python3.11`).
fn is_python_folder(part: &str) -> bool {
    part.strip_prefix("python3.").is_some_and(is_number)
}

/// What of a path says nothing about its user.
fn stays_in_path(part: &str, is_last: bool) -> bool {
    let stem = part.strip_suffix(".py").unwrap_or(part);
    let is_inductor =
        stem.len() == 52 && stem.bytes().all(|it| matches!(it, b'a'..=b'z' | b'2'..=b'7'));
    let is_folder = matches!(
        part,
        "" | "."
            | ".."
            | "lib"
            | "lib64"
            | "Lib"
            | "site-packages"
            | "dist-packages"
            | "usr"
            | "tmp"
            | "triton"
            | ".triton"
            | "cache"
    );
    let kernel = part.strip_prefix("ipykernel_");
    let is_short =
        part.len() == 2 && part.bytes().all(|it| matches!(it, b'a'..=b'z' | b'2'..=b'7'));
    is_inductor
        || is_last && (stem == "__init__" || stem == "__main__" || is_number(stem))
        || !is_last
            && (is_folder || is_short || is_python_folder(part) || kernel.is_some_and(is_number))
        || !is_last && part.len() == 2 && part.ends_with(':')
}

/// Whether code is of a module that is built into Python (`frozen os`).
fn is_frozen(name: &str) -> bool {
    let module = name.strip_prefix("frozen ").map(|it| it.split('.').next().unwrap_or(it));
    module.is_some_and(|it| public::package(it) == KnownPackage::Whole)
}

/// Whether the functions of a file are PyTorch's or Python's own.
fn is_of_pytorch_or_python(path: &str) -> bool {
    if let Some(inside) = path.strip_prefix('<') {
        return is_frozen(inside.strip_suffix('>').unwrap_or(inside));
    }
    let parts: Vec<&str> = path.split(is_separator).collect();
    let library = parts.iter().rposition(|it| matches!(*it, "site-packages" | "dist-packages"));
    let library = library.or_else(|| parts.iter().rposition(|it| is_python_folder(it)));
    let top = parts.get(library.map_or(0, |it| it + 1)).copied().unwrap_or_default();
    public::package(top.strip_suffix(".py").unwrap_or(top)) == KnownPackage::Whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_everybodys_stays_and_what_is_the_users_does_not() {
        let rows = [
            (
                "torch/nn/modules/linear.py(114): forward",
                "torch/nn/modules/linear.py(114): forward",
            ),
            ("contextlib.py(141): helper", "contextlib.py(141): helper"),
            ("train.py(9): step", "replaced1.py(9): fn1"),
            ("pkg/train.py(9): Net.forward", "d1/replaced1.py(9): fn2.forward"),
            ("/home/ann/pkg/train.py(9): <lambda>", "/d2/d3/d1/replaced1.py(9): <lambda>"),
            (r"D:\ann\train.py(3): step", r"D:\d3\replaced1.py(3): fn1"),
            (
                "/home/ann/env/lib/python3.7/site-packages/torch/x.py(1): f",
                "/d2/d3/d4/lib/python3.7/site-packages/torch/x.py(1): f",
            ),
            (
                "/opt/lib/python3.7/site-packages/own/x.py(1): f",
                "/d5/lib/python3.7/site-packages/d6/replaced2.py(1): fn3",
            ),
            ("transformers/models/x.py(1): f", "transformers/d7/replaced2.py(1): fn3"),
            ("test/x.py(1): f", "test/replaced2.py(1): fn3"),
            ("<string>(2): __init__", "<string>(2): __init__"),
            ("<ann>(2): build", "<replaced3>(2): fn4"),
            (
                "train.py(9): torch_dynamo_resume_in_step_at_76",
                "replaced1.py(9): torch_dynamo_resume_in_fn1_at_76",
            ),
            (
                "/tmp/torchinductor_ann/ab/cabc.py(3): call",
                "/tmp/torchinductor_d3/ab/replaced4.py(3): fn5",
            ),
            (
                "/tmp/ipykernel_2566/1623915622.py(18): <cell line: 0>",
                "/tmp/ipykernel_2566/1623915622.py(18): <cell line: 0>",
            ),
            ("nn.Module: Linear_7", "nn.Module: Linear_7"),
            ("nn.Module: SecretNet_0", "nn.Module: C1_0"),
            (
                "<built-in method run_backward of torch._C._EngineBase object at 0x7f>",
                "<built-in method run_backward of torch._C._EngineBase object at 0x7f>",
            ),
            (
                "<built-in method secret of Own object at 0x7f>",
                "<built-in method fn6 of C2 object at 0x7f>",
            ),
            ("<built-in function len>", "<built-in function len>"),
            ("<built-in function secret>", "<built-in function fn6>"),
            (
                "<method 'recv' of '_socket.socket' objects>",
                "<method 'recv' of '_socket.socket' objects>",
            ),
        ];
        let mut names = ReplacedNames::default();
        for (name, expected) in rows {
            assert_eq!(names.python_event(name), expected, "{name}");
            assert_eq!(names.python_event(name), expected, "{name}, again");
        }
    }

    #[test]
    fn operators_ranges_and_kernels_keep_what_perfline_reads() {
        let mut names = ReplacedNames::default();
        let operators = [
            ("aten::addmm", "aten::addmm"),
            (
                "autograd::engine::evaluate_function: AddmmBackward0",
                "autograd::engine::evaluate_function: AddmmBackward0",
            ),
            ("own::fast", "op1::op2"),
            ("SecretFn", "op3"),
            (
                "autograd::engine::evaluate_function: SecretFnBackward",
                "autograd::engine::evaluate_function: op3Backward",
            ),
            ("ProfilerStep#3", "ProfilerStep#3"),
        ];
        for (name, expected) in operators {
            assert_eq!(names.operator(name), expected);
        }
        let ranges = [
            ("Optimizer.step#AdamW.step", "Optimizer.step#AdamW.step"),
            ("Optimizer.step#Secret.step", "Optimizer.step#C1.step"),
            ("nccl:all_reduce", "nccl:all_reduce"),
            ("nccl:secret", "nccl:range1"),
            ("load the secret", "range2"),
            (
                "execute_8192_context_9(sq81sk84sqsq74sqsk76)_generation_37(sq37sk34sqsq37sqsk34)",
                "execute_8192_context_9(sq81sk84sqsq74sqsk76)_generation_37(sq37sk34sqsq37sqsk34)",
            ),
            ("step[DECODE bs=32]", "step[DECODE bs=32]"),
            ("step[SECRET bs=32]", "range3"),
            ("execute_context_1(5 secrets)_generation_0(0)", "range4"),
        ];
        for (name, expected) in ranges {
            assert_eq!(names.range(name), expected);
        }
        let kernels = [
            (
                "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
                "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, kernel1> >(int)",
            ),
            (
                "void at::native::elementwise_kernel<secret::Op>(int)",
                "void at::native::elementwise_kernel<kernel2>(int)",
            ),
            ("ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn"),
            ("triton_poi_fused_add_3", "triton_poi_kernel3_3"),
            ("secret_kernel(float*)", "kernel4"),
            ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)"),
            ("Memcpy of secrets", "kernel5"),
        ];
        for (name, expected) in kernels {
            assert_eq!(names.kernel(name), expected);
        }
        assert_eq!(names.category("cpu_op"), "cpu_op");
        assert_eq!(names.category("secret_runtime"), "text1_runtime");
    }
}
