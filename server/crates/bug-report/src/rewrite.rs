//! An event, and what stands beside the events, with other names. Numbers stand as in the file.

use trace_reader::raw::{self, EventHead};

use crate::names::ReplacedNames;

/// Values within one another; what is deeper is left out.
const MAX_DEPTH: usize = 32;

/// Members of the outermost object that stay; others are the user's own.
const MEMBERS: [&[u8]; 20] = [
    b"schemaVersion",
    b"deviceProperties",
    b"distributedInfo",
    b"displayTimeUnit",
    b"baseTimeNanoseconds",
    b"record_shapes",
    b"profile_memory",
    b"with_stack",
    b"with_modules",
    b"with_flops",
    b"cuda_driver_version",
    b"cuda_runtime_version",
    b"cupti_version",
    b"hip_driver_version",
    b"hip_runtime_version",
    b"roctracer_version",
    b"perfline_simulated",
    b"traceName",
    b"host_name",
    b"trace_id",
];

/// Keys of an event that stay.
const EVENT_KEYS: [&[u8]; 12] =
    [b"ph", b"cat", b"name", b"pid", b"tid", b"ts", b"dur", b"id", b"args", b"s", b"bp", b"tts"];

/// Keys of `args`, and of what stands beside the events, that stay.
const ARGUMENT_KEYS: &str = "\
    Addr|Bytes|Call stack|CallFrom|Collective name|Concrete Inputs|Device Id|Device Type|Device|Ev Idx|External id|Extra arguments|\
    Fwd thread id|Global rank start|Global rank stride|Group size|In msg nelems|In split size|Input Dims|Input Strides|Input dims|\
    Input names|Input type|Op count|Out msg nelems|Out split size|Output dims|Output names|Output type|Process Group Description|\
    Process Group ID|Process Group Name|Process Group Ranks|Profiler Event Index|Python id|Python module id|Python parent id|\
    Python thread|Rank|Record function id|Seq|Sequence number|Total Allocated|Total Reserved|Trace iteration|Trace name|block|\
    blocks per SM|bytes|cbid|cid|context|correlation|cuda_sync_kind|device|direction|dst|dtype|est. achieved occupancy %|external id|\
    external ts|finished|graph id|graph node id|grid|kernel|kind|labels|memory bandwidth (GB/s)|name|priority|ptr|queued|\
    registers per thread|scope|shared memory|size|sort_index|src|stack|stream|wait_on_cuda_event_id|\
    wait_on_cuda_event_record_corr_id|wait_on_stream|warps per SM|kernel_backend|num_warps|num_stages|\
    id|totalGlobalMem|computeMajor|computeMinor|maxThreadsPerBlock|maxThreadsPerMultiprocessor|regsPerBlock|regsPerMultiprocessor|\
    warpSize|sharedMemPerBlock|sharedMemPerMultiprocessor|numSms|sharedMemPerBlockOptin|maxSharedMemoryPerMultiProcessor|\
    backend|rank|world_size|pg_count|pg_config|pg_name|pg_desc|pg_size|ranks|nccl_version|backend_config";

/// Words that stay where they are a whole text: types of tensors, kinds of copies, of collectives, of devices.
const WORDS: &str = "\
    |Scalar|ScalarList|TensorList|GenericList|Tensor|Device|Int|Bool|Double|float|double|long|long int|int|bool|short int|short|\
    unsigned char|signed char|unsigned int|c10::BFloat16|c10::Half|c10::complex<float>|c10::complex<double>|c10::Float8_e4m3fn|\
    c10::Float8_e5m2|BFloat16|Byte|Float|Half|Long|Short|Char|_allgather_base|_reduce_scatter_base|allgather|allgather_coalesced|\
    allgather_into_tensor_coalesced|allreduce|allreduce_coalesced|all_to_all|all_to_allv|alltoall|alltoall_base|barrier|broadcast|broadcast_oop|gather|recv|recvAnySource|\
    reduce|reduce_oop|reduce_scatter|reduce_scatter_tensor_coalesced|reducescatter|scatter|send|wait|allgather_oop|nccl|gloo|mpi|ucc|hccl|xccl|rccl|cuda:nccl|cpu:gloo,cuda:nccl|Dispatch Kernel|DtoD|DtoH|HtoD|\
    Event Sync|Context Sync|Stream Sync|Stream Wait Event|Unknown|DEVICE_TO_HOST|HOST_TO_DEVICE|DEVICE_TO_DEVICE|user_scope|triton|ms|us|ns|PyTorch Profiler|CPU";

/// What the names of devices begin with.
const DEVICES: [&str; 5] = ["NVIDIA ", "AMD ", "Tesla ", "Intel", "Quadro "];

/// What a text is, by where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The name of an event of this category.
    EventName(NameRole),
    Category,
    Thread,
    Caller,
    Stack,
    Provenance,
    Kernel,
    Group,
    Device,
    /// The input of an operator: a number, or a text of the user.
    Input,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameRole {
    Python,
    Operator,
    Range,
    /// Of a runtime: `cudaLaunchKernel`.
    Runtime,
    Device,
    Mark,
}

/// Writes `event` with other names; `false` if it is damaged and nothing was written.
pub(crate) fn event(
    event: &[u8],
    head: &EventHead<'_>,
    names: &mut ReplacedNames,
    out: &mut Vec<u8>,
) -> bool {
    let Some(members) = raw::members(event) else { return false };
    let role = name_role(head);
    out.push(b'{');
    for (index, (key, value)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_key(key, EVENT_KEYS.contains(&key), names, out);
        match key {
            b"args" => arguments(value, head, names, out),
            b"name" => rewrite(value, Role::EventName(role), names, out, 0),
            b"cat" => rewrite(value, Role::Category, names, out, 0),
            b"pid" | b"tid" => rewrite(value, Role::Thread, names, out, 0),
            // One letter.
            b"ph" | b"s" | b"bp" if value.len() == 3 => out.extend_from_slice(value),
            _ => rewrite(value, Role::Other, names, out, 0),
        }
    }
    out.push(b'}');
    true
}

fn name_role(head: &EventHead<'_>) -> NameRole {
    use trace_reader::raw::EventSide;
    match head.category {
        b"python_function" => NameRole::Python,
        b"cpu_op" | b"Operator" => NameRole::Operator,
        b"user_annotation" | b"gpu_user_annotation" | b"NVTX" => NameRole::Range,
        b"cuda_runtime" | b"Runtime" | b"cuda_driver" => NameRole::Runtime,
        _ if head.phase == b"X" && head.side() == EventSide::Device => NameRole::Device,
        _ => NameRole::Mark,
    }
}

fn arguments(value: &[u8], head: &EventHead<'_>, names: &mut ReplacedNames, out: &mut Vec<u8>) {
    let Some(members) = raw::members(value) else {
        rewrite(value, Role::Other, names, out, 0);
        return;
    };
    out.push(b'{');
    for (index, (key, value)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_key(key, is_known(ARGUMENT_KEYS, key), names, out);
        let role = match key {
            b"CallFrom" => Role::Caller,
            b"Call stack" => Role::Stack,
            b"stack" => Role::Provenance,
            b"kernel" => Role::Kernel,
            b"Process Group Name" | b"Process Group Description" => Role::Group,
            b"Concrete Inputs" => Role::Input,
            b"name" | b"labels" if head.phase == b"M" => Role::Thread,
            b"stream" => Role::Thread,
            _ => Role::Other,
        };
        rewrite(value, role, names, out, 0);
    }
    out.push(b'}');
}

/// Writes a member of the outermost object with other names, after a comma; `false` if it is left out.
pub(crate) fn member(
    key: &[u8],
    value: &[u8],
    names: &mut ReplacedNames,
    out: &mut Vec<u8>,
) -> bool {
    if !MEMBERS.contains(&key) {
        return false;
    }
    write_key(key, true, names, out);
    match key {
        b"traceName" => out.extend_from_slice(b"\"cut.json\""),
        b"host_name" | b"trace_id" | b"perfline_simulated" => out.extend_from_slice(b"\"\""),
        b"deviceProperties" => rewrite(value, Role::Device, names, out, 0),
        b"distributedInfo" => rewrite(value, Role::Group, names, out, 0),
        _ => rewrite(value, Role::Other, names, out, 0),
    }
    true
}

fn is_known(list: &str, key: &[u8]) -> bool {
    list.split('|').any(|it| it.as_bytes() == key)
}

fn write_key(key: &[u8], is_known: bool, names: &mut ReplacedNames, out: &mut Vec<u8>) {
    if is_known {
        write_text(&String::from_utf8_lossy(key), out);
    } else {
        write_text(&names.key(&String::from_utf8_lossy(key)), out);
    }
    out.push(b':');
}

fn rewrite(value: &[u8], role: Role, names: &mut ReplacedNames, out: &mut Vec<u8>, depth: usize) {
    match value.first() {
        _ if MAX_DEPTH < depth => out.extend_from_slice(b"null"),
        Some(b'"') => {
            let text = raw::text(value).unwrap_or_default();
            write_text(&renamed(&text, role, names), out);
        }
        Some(b'[') => {
            out.push(b'[');
            for (index, item) in raw::items(value).unwrap_or_default().into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                rewrite(item, role, names, out, depth + 1);
            }
            out.push(b']');
        }
        Some(b'{') => {
            out.push(b'{');
            for (index, (key, value)) in
                raw::members(value).unwrap_or_default().into_iter().enumerate()
            {
                if index > 0 {
                    out.push(b',');
                }
                write_key(key, is_known(ARGUMENT_KEYS, key), names, out);
                rewrite(value, role, names, out, depth + 1);
            }
            out.push(b'}');
        }
        // A number, or a word that stands for none.
        _ if raw::number(value, 0).is_some() || is_word_for_none(value) => {
            out.extend_from_slice(value)
        }
        _ => out.extend_from_slice(b"null"),
    }
}

/// Words and numbers that hold no text.
fn is_word_for_none(value: &[u8]) -> bool {
    matches!(
        value,
        b"true"
            | b"false"
            | b"null"
            | b"NaN"
            | b"Infinity"
            | b"-Infinity"
            | b"N/A"
            | b"nan"
            | b"inf"
            | b"-inf"
    ) || value.iter().all(|it| it.is_ascii_digit() || b"+-.eE".contains(it))
}

fn renamed(text: &str, role: Role, names: &mut ReplacedNames) -> String {
    if is_known(WORDS, text.as_bytes()) && !matches!(role, Role::EventName(_)) {
        return text.to_owned();
    }
    match role {
        Role::EventName(NameRole::Python) => names.python_event(text),
        Role::EventName(NameRole::Operator) => names.operator(text),
        Role::EventName(NameRole::Range) => names.range(text),
        Role::EventName(NameRole::Runtime) if is_runtime_call(text) => text.to_owned(),
        Role::EventName(NameRole::Device) | Role::Kernel => names.kernel(text),
        Role::EventName(NameRole::Runtime | NameRole::Mark) => match is_mark(text) {
            true => text.to_owned(),
            false => names.range(text),
        },
        Role::Category => names.category(text),
        Role::Thread => names.thread(text).into_owned(),
        Role::Caller => names.caller(text),
        Role::Stack => call_stack(text, names),
        Role::Provenance => provenance(text, names),
        Role::Group => names.group(text),
        Role::Device if DEVICES.iter().any(|it| text.starts_with(it)) => text.to_owned(),
        Role::Device | Role::Other => names.text(text),
        // Of an input nothing but numbers is of use.
        Role::Input if names.text(text) == text => text.to_owned(),
        Role::Input => String::new(),
    }
}

/// Whether a name is one of a function of CUDA or HIP (`cudaLaunchKernel`).
fn is_runtime_call(name: &str) -> bool {
    ["cuda", "cu", "hip", "hsa_", "INVALID", "ur", "ze"].iter().any(|it| name.starts_with(it))
        && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
}

/// Whether a name is one that Kineto gives to what is no call: metadata, flows, instants, spans of its own.
fn is_mark(name: &str) -> bool {
    const MARKS: [&str; 17] = [
        "process_name",
        "process_labels",
        "process_sort_index",
        "thread_name",
        "thread_sort_index",
        "[memory]",
        "fwdbwd",
        "ac2g",
        "[OutOfMemory]",
        "Stream Sync",
        "Event Sync",
        "Context Sync",
        "Stream Wait Event",
        "Activity Buffer Request",
        "Instrumentation",
        "Resource",
        "Runtime Triggered Module Loading",
    ];
    MARKS.contains(&name)
}

/// Frames with `;` between them.
fn call_stack(stack: &str, names: &mut ReplacedNames) -> String {
    let frames: Vec<String> = stack
        .split(';')
        .map(|it| {
            let name = it.trim();
            if name.is_empty() {
                return it.to_owned();
            }
            let before = &it[..it.len() - it.trim_start().len()];
            format!("{before}{}", names.python_event(name))
        })
        .collect();
    frames.join(";")
}

/// The lines that a kernel was made from, as PyTorch writes them.
fn provenance(text: &str, names: &mut ReplacedNames) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| {
            let line = line.trim();
            if let Some(frame) = names.frame(line) {
                return frame;
            }
            let rest = line.strip_prefix("File \"").and_then(|it| it.split_once("\", line "));
            if let Some((path, rest)) = rest {
                let (number, function) = rest.split_once(", in ").unwrap_or((rest, ""));
                let new = names.path(path);
                let number: String = number.chars().filter(char::is_ascii_digit).collect();
                if function.is_empty() {
                    return format!("File \"{new}\", line {number}");
                }
                return format!(
                    "File \"{new}\", line {number}, in {}",
                    names.function(path, function)
                );
            }
            names.caller(line)
        })
        .collect();
    lines.join("\n")
}

pub(crate) fn write_text(text: &str, out: &mut Vec<u8>) {
    // Writing into memory does not fail, and a text is always JSON.
    if serde_json::to_writer(&mut *out, text).is_err() {
        out.extend_from_slice(b"\"\"");
    }
}
