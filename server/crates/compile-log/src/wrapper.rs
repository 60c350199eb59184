//! The calls in generated code: which values each kernel reads and writes.

use rustc_hash::FxHashMap;

use crate::aot_graph::{is_of_name, names, split};
use crate::code::{LinesOfCalls, called_operator};

/// A value of a buffer: what a call wrote, an input, an item of a result.
pub(crate) type ValueId = usize;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ValueSource {
    /// An input of this name.
    Input(String),
    /// It was written by a call, and replaced `over` if there was a value before.
    Call { call: usize, over: Option<ValueId> },
    /// An item of the result of a call.
    Item { of: ValueId, item: u32 },
}

/// A call of a kernel, or of a library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WrapperCall {
    /// `addmm` of `extern_kernels.addmm` and of `torch.ops.aten.addmm.default`; empty of a kernel that was generated.
    pub(crate) operator: String,
    /// In the order of its arguments.
    pub(crate) reads: Vec<ValueId>,
    pub(crate) writes: Vec<ValueId>,
}

/// The functions of a generated file that call kernels, as one row of calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Wrapper {
    /// The names of its inputs, in order.
    pub(crate) inputs: Vec<String>,
    pub(crate) values: Vec<ValueSource>,
    /// In the order in which they run.
    pub(crate) calls: Vec<WrapperCall>,
    /// What it returns; `None` of what is no value.
    pub(crate) outputs: Vec<Option<ValueId>>,
    /// First and last line of each part of a function, and the call that it belongs to, in the order of lines.
    pub(crate) lines: Vec<(u32, u32, usize)>,
}

impl Wrapper {
    pub(crate) fn parse(text: &str) -> Self {
        let mut reader =
            WrapperReader { parameters: parameters_of_kernels(text), ..WrapperReader::default() };
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            let is_in_call = reader.lines.runs(line);
            if is_in_call {
                reader.line(number, line);
            } else if let Some(values) = line.strip_prefix("return (") {
                reader.returns(values);
            }
        }
        reader.wrapper.lines = reader.lines.finish();
        reader.wrapper
    }
}

/// What a kernel does with an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parameter {
    Reads,
    Writes,
    /// It reads what is there, and writes over it.
    Updates,
    /// A number.
    Number,
}

impl Parameter {
    /// By the name that Inductor gives it.
    fn of(name: &str) -> Self {
        match name {
            _ if name.contains("in_out_ptr") => Self::Updates,
            _ if name.contains("out_ptr") => Self::Writes,
            _ if name.contains("in_ptr") => Self::Reads,
            _ => Self::Number,
        }
    }
}

/// By name, the parameters of the kernels that are defined in the file: `extern "C" void kernel(const float* in_ptr0, …)`, and
/// `def triton_poi_fused_0(in_ptr0, …)`.
fn parameters_of_kernels(text: &str) -> FxHashMap<&str, Vec<Parameter>> {
    let mut found = FxHashMap::default();
    let mut rest = text;
    while let Some(at) = rest.find(" = async_compile.") {
        let line = rest[..at].rfind('\n').map_or(0, |it| it + 1);
        let name = rest[line..at].trim();
        rest = &rest[at + " = async_compile.".len()..];
        let definition = match rest.starts_with("triton(") {
            true => format!("def {name}("),
            false => " kernel(".to_owned(),
        };
        let end = rest.find(" = async_compile.").unwrap_or(rest.len());
        let Some((_, parameters)) = rest[..end].split_once(&definition) else { continue };
        let Some((parameters, _)) = parameters.split_once(')') else { continue };
        found.insert(name, parameters.split(',').map(Parameter::of).collect());
    }
    found
}

#[derive(Default)]
struct WrapperReader<'a> {
    wrapper: Wrapper,
    parameters: FxHashMap<&'a str, Vec<Parameter>>,
    /// By name of a variable, the number of the memory that it stands for.
    memory: FxHashMap<String, usize>,
    /// By number of the memory, what is in it.
    content: Vec<Option<ValueId>>,
    lines: LinesOfCalls,
}

impl WrapperReader<'_> {
    fn line(&mut self, number: u32, line: &str) {
        // `buf1 = buf0; del buf0  # reuse`
        let statement = split(split(line, ';')[0], '#')[0].trim();
        let (variable, value) = match statement.split_once(" = ") {
            Some((variable, value)) if !variable.contains('(') => (variable, value),
            _ => ("", statement),
        };
        let head = value.find(|it: char| !is_of_name(it) && it != '.').unwrap_or(value.len());
        let (head, rest) = value.split_at(head);
        if value == "args" {
            self.inputs(variable);
        } else if let Some(arguments) = rest.strip_prefix('(').and_then(|it| it.strip_suffix(')')) {
            let kernel = head.strip_suffix(".run").unwrap_or(head);
            if head == "reinterpret_tensor" {
                self.same_memory(variable, arguments);
            } else if let Some(parameters) = self.parameters.get(kernel).cloned() {
                self.kernel(&parameters, arguments);
            } else if let Some(operator) = called_operator(value) {
                self.library(operator, variable, arguments);
            } else if head.starts_with("empty_strided") {
                self.new_memory(variable, None);
            }
        } else if let Some(item) = rest.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            self.item(variable, head, item);
        } else if rest.is_empty() {
            self.same_memory(variable, value);
        }
        self.lines.line(number, line);
    }

    /// `primals_1, primals_2 = args`
    fn inputs(&mut self, variables: &str) {
        // Parts of a function have inputs of their own, which are values of the others.
        let is_first = self.wrapper.inputs.is_empty();
        for name in variables.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            if is_first {
                self.wrapper.inputs.push(name.to_owned());
            }
            if !self.memory.contains_key(name) {
                let value = self.value(ValueSource::Input(name.to_owned()));
                self.new_memory(name, Some(value));
            }
        }
    }

    fn value(&mut self, source: ValueSource) -> ValueId {
        self.wrapper.values.push(source);
        self.wrapper.values.len() - 1
    }

    fn new_memory(&mut self, variable: &str, content: Option<ValueId>) {
        if !variable.is_empty() {
            self.memory.insert(variable.to_owned(), self.content.len());
            self.content.push(content);
        }
    }

    fn same_memory(&mut self, variable: &str, value: &str) {
        if let Some(&memory) = names(value).find_map(|it| self.memory.get(it)) {
            self.memory.insert(variable.to_owned(), memory);
        }
    }

    fn item(&mut self, variable: &str, of: &str, item: &str) {
        let of = self.memory.get(of).and_then(|&it| self.content[it]);
        if let (Some(of), Ok(item)) = (of, item.trim().parse()) {
            let value = self.value(ValueSource::Item { of, item });
            self.new_memory(variable, Some(value));
        }
    }

    /// The memories that an argument names.
    fn memories(&self, argument: &str) -> Vec<usize> {
        names(argument).filter_map(|it| self.memory.get(it).copied()).collect()
    }

    /// Ends a call that writes to `memories`.
    fn call(&mut self, mut call: WrapperCall, memories: &[usize]) {
        let number = self.wrapper.calls.len();
        for &memory in memories {
            let over = self.content[memory];
            let value = self.value(ValueSource::Call { call: number, over });
            self.content[memory] = Some(value);
            call.writes.push(value);
        }
        self.wrapper.calls.push(call);
        self.lines.begin(number);
    }

    fn kernel(&mut self, parameters: &[Parameter], arguments: &str) {
        let (mut call, mut written) = (WrapperCall::default(), Vec::new());
        for (argument, parameter) in split(arguments, ',').into_iter().zip(parameters) {
            for memory in self.memories(argument) {
                if matches!(parameter, Parameter::Reads | Parameter::Updates) {
                    call.reads.extend(self.content[memory]);
                }
                if matches!(parameter, Parameter::Writes | Parameter::Updates)
                    && !written.contains(&memory)
                {
                    written.push(memory);
                }
            }
        }
        self.call(call, &written);
    }

    fn library(&mut self, operator: &str, variable: &str, arguments: &str) {
        let mut call = WrapperCall::default();
        let (mut written, mut first) = (Vec::new(), None);
        for argument in split(arguments, ',') {
            let memories = self.memories(argument);
            if argument.trim_start().starts_with("out=") {
                written.extend(memories);
                continue;
            }
            first = first.or(memories.first().copied());
            call.reads.extend(memories.iter().filter_map(|&it| self.content[it]));
        }
        // `index_put_` and its like write to their first argument.
        operator.trim_end_matches('_').clone_into(&mut call.operator);
        written.extend(first.filter(|_| operator.ends_with('_')));
        if !variable.is_empty() {
            self.new_memory(variable, None);
            written.push(self.content.len() - 1);
        }
        self.call(call, &written);
    }

    /// `return (buf1, reinterpret_tensor(buf2, …), None, )`: of several functions the last counts.
    fn returns(&mut self, values: &str) {
        let values = values.trim_end().strip_suffix(')').unwrap_or(values);
        let values = split(values, ',').into_iter().filter(|it| !it.trim().is_empty());
        let content = |it: &str| self.memories(it).first().and_then(|&it| self.content[it]);
        self.wrapper.outputs = values.map(content).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = r#"
cpp_fused_relu_0 = async_compile.cpp_pybinding(['float*', 'const float*', 'float*'], r'''
extern "C"  void  kernel(float* in_out_ptr0,
                       const float* in_ptr0,
                       float* out_ptr0)
{
}
''')

triton_poi_fused_add_1 = async_compile.triton('triton_poi_fused_add_1', '''
@triton.jit
def triton_poi_fused_add_1(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
''', device_str='cuda')

def call(self, args):
    primals_1, primals_2 = args
    args.clear()
    buf0 = empty_strided_cpu((8, 8), (8, 1), torch.float32)
    # Topologically Sorted Source Nodes: [h]
    extern_kernels.mm(primals_1, reinterpret_tensor(primals_2, (8, 8), (1, 8), 0), out=buf0)
    buf1 = reinterpret_tensor(buf0, (64, ), (1, ), 0); del buf0  # reuse
    buf2 = empty_strided_cpu((8, 8), (8, 1), torch.float32)
    cpp_fused_relu_0(buf1, primals_1, buf2)
    stream0 = get_raw_stream(0)
    triton_poi_fused_add_1.run(buf2, primals_2, 64, stream=stream0)
    buf3 = torch.ops.aten.topk.default(buf2, 2)
    buf4 = buf3[1]
    aten.index_put_(buf2, [buf4], buf1, False)
    return (buf2, None, reinterpret_tensor(buf4, (8, ), (1, ), 0), )
"#;

    #[test]
    fn calls_are_read() {
        let wrapper = Wrapper::parse(CODE);
        assert_eq!(wrapper.inputs, ["primals_1", "primals_2"]);
        let calls: Vec<_> = wrapper
            .calls
            .iter()
            .map(|it| (it.operator.as_str(), it.reads.clone(), it.writes.clone()))
            .collect();
        let expected = [
            ("mm", vec![0, 1], vec![2]),
            ("", vec![2, 0], vec![3, 4]),
            ("", vec![4], vec![5]),
            ("topk", vec![4], vec![6]),
            ("index_put", vec![4, 7, 3], vec![8]),
        ];
        assert_eq!(calls, expected);
        let over = |it: &ValueSource| match *it {
            ValueSource::Call { over, .. } => over,
            _ => None,
        };
        assert_eq!(
            wrapper.values.iter().map(over).collect::<Vec<_>>()[2..6],
            [None, Some(2), None, Some(1)]
        );
        assert_eq!(wrapper.values[7], ValueSource::Item { of: 6, item: 1 });
        assert_eq!(wrapper.outputs, [Some(8), None, Some(7)]);
        let lines = [(18, 18, 0), (20, 21, 0), (22, 24, 1), (25, 25, 2), (26, 27, 3), (28, 28, 4)];
        assert_eq!(wrapper.lines, lines);
    }
}
