//! The functions, loops and statements of a file.

use std::ops::RangeInclusive;

use crate::{AssignedValue, Directive, LineIndex, collect};

/// What a Python file says. Plain tables: nothing of the text or its syntax tree is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Module {
    /// In source order (outer before inner); the first is the module itself.
    pub(crate) functions: Vec<Function>,
    /// In source order.
    pub(crate) loops: Vec<Loop>,
    /// In source order.
    pub(crate) classes: Vec<ClassFacts>,
    /// First and last line of each logical line that has more than one, in source order.
    pub(crate) long_statements: Vec<(u32, u32)>,
    /// First and last line of each run of lines that hold statements, in source order.
    pub(crate) code_lines: Vec<(u32, u32)>,
    /// In source order.
    pub(crate) directives: Vec<Directive>,
    pub(crate) n_lines: u32,
    pub(crate) has_errors: bool,
}

/// Something that Python runs in a frame of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// The name in frames and tracebacks (`co_name`): `forward`, `<lambda>`, `<listcomp>`, `<module>`.
    pub name: String,
    /// The names of the functions and classes around it and its own, with dots: `SlowModel.forward`, `build.step`,
    /// `build.<listcomp>`. What Python's `__qualname__` says, without `<locals>`.
    pub qualified_name: String,
    /// What it is.
    pub kind: FunctionKind,
    /// Line of the first decorator, else of the definition (`co_firstlineno`).
    pub first_line: u32,
    /// Line of `def`, `class` or `lambda`; of a comprehension, its bracket.
    pub def_line: u32,
    /// Line of the first statement of the body (a docstring counts), of a lambda's expression, of a comprehension's
    /// element.
    pub body_first_line: u32,
    /// Last line.
    pub last_line: u32,
    /// The function, class or module whose code makes it, as an index into [`Module::functions`]; `None` for the module.
    pub parent: Option<usize>,
    /// Whether its frame is left and entered again: it has a `yield`, or is a generator expression.
    pub is_generator: bool,
    /// Whether it may do something when its frame is left early: it has a `with` or a `try`.
    pub cleans_up: bool,
    /// What its decorators make of it.
    pub decoration: Decoration,
    /// How many arguments it takes; `None` of what is no `def`.
    pub arity: Option<Arity>,
    /// Whether it is compiled for the device by Triton (`@triton.jit`): a kernel of its name, or a function that kernels call.
    pub is_triton_kernel: bool,
}

/// How many arguments a function takes, `self` included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Arity {
    /// Parameters that can be passed by position.
    pub placed: u32,
    /// Parameters that are passed by name alone.
    pub named: u32,
    /// Parameters that have no default.
    pub required: u32,
    /// Whether it takes any others by position: `*args`.
    pub takes_any_placed: bool,
    /// Whether it takes any others by name: `**kwargs`.
    pub takes_any_named: bool,
}

impl Arity {
    /// Whether a call with so many arguments may run, whatever their names.
    #[must_use]
    pub fn fits(&self, positional: u32, keywords: u32) -> bool {
        let takes_any = self.takes_any_placed || self.takes_any_named;
        (self.takes_any_placed || positional <= self.placed)
            && (takes_any || positional + keywords <= self.placed + self.named)
            && self.required <= positional + keywords
    }
}

/// What the decorators of a function or class make of it, as far as their names say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Decoration {
    /// It has none, or its calls run it as if it had none: `classmethod`, `staticmethod`.
    #[default]
    Unchanged,
    /// What it returned is kept, so that most calls do not run it: `functools.lru_cache`, `functools.cache`.
    Memoized,
    /// Anything else: it may be a property, or called by another function.
    Other,
}

/// What the text says about the objects of a class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClassFacts {
    /// The class, as an index into [`Module::functions`].
    pub function: usize,
    /// The last names of its bases.
    pub bases: Vec<String>,
    /// What its attributes are assigned: in its body, by `self.name = …` in its methods, by `nn.Module`'s
    /// `register_buffer` and the like ([`AssignedValue::Made`] by that method). Sorted by name.
    pub attributes: Vec<(String, AssignedValue)>,
    /// The attributes that are assigned something other than `None` under no condition. Sorted.
    pub(crate) assured: Vec<String>,
}

impl ClassFacts {
    /// What an attribute is assigned; nothing if it is none of this class.
    pub fn values_of(&self, attribute: &str) -> impl Iterator<Item = &AssignedValue> {
        let from = self.attributes.partition_point(|(name, _)| name.as_str() < attribute);
        let rows = self.attributes[from..].iter();
        rows.take_while(move |(name, _)| name == attribute).map(|(_, value)| value)
    }

    /// Whether an attribute is assigned something other than `None` under no condition.
    #[must_use]
    pub fn assures(&self, attribute: &str) -> bool {
        self.assured.binary_search_by(|it| it.as_str().cmp(attribute)).is_ok()
    }
}

impl Function {
    /// Whether `line` is one of its lines.
    #[must_use]
    pub fn contains(&self, line: u32) -> bool {
        (self.first_line..=self.last_line).contains(&line)
    }
}

/// What a [`Function`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// The file itself, `<module>`.
    Module,
    /// The body of a class.
    Class,
    /// `def`.
    Def,
    /// `async def`.
    AsyncDef,
    /// `<lambda>`.
    Lambda,
    /// `<listcomp>`. This and the next two are frames up to Python 3.11.
    ListComp,
    /// `<setcomp>`.
    SetComp,
    /// `<dictcomp>`.
    DictComp,
    /// `<genexpr>`.
    GenExpr,
}

/// Something that runs its lines again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Loop {
    /// What it is.
    pub kind: LoopKind,
    /// First line of the statement; of a comprehension, the line of its first `for`.
    pub header_line: u32,
    /// First line of the body (`else` is not part of it); of a comprehension, of the whole expression.
    pub first_line: u32,
    /// Last line of the body; of a comprehension, of the whole expression.
    pub last_line: u32,
    /// What runs it, as an index into [`Module::functions`]: a comprehension is run by its own function.
    pub function: usize,
}

/// What a [`Loop`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoopKind {
    /// `for` and `async for`.
    For,
    /// `while`.
    While,
    /// A comprehension or generator expression.
    Comprehension,
}

impl Module {
    /// Reads a text. Never fails: of a text with errors it gives what can be read.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        collect::collect(text, &LineIndex::new(text))
    }

    /// Whether the text is not valid Python (of any version), so that something may be missing.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.has_errors
    }

    /// Number of lines, as [`LineIndex::n_lines`].
    #[must_use]
    pub fn n_lines(&self) -> u32 {
        self.n_lines
    }

    /// Everything that runs in a frame of its own, in source order, outer before inner; the first is the module.
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// All functions of a name (`co_name`), in source order.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(move |function| function.name == name)
    }

    /// The function that a line belongs to, for a reader: the innermost `def`, class body or lambda, else the module;
    /// `None` past the end of the file. Decorators belong to what they decorate. A lambda has the lines after the one
    /// on which it begins: what shares a line is called by the name of the `def`. A comprehension has none, because
    /// whether it is a function depends on the version of Python.
    #[must_use]
    pub fn enclosing(&self, line: u32) -> Option<&Function> {
        // Of nested functions the innermost begins last.
        let begun = self.functions.partition_point(|function| function.first_line <= line);
        self.functions[..begun].iter().rev().filter(|function| function.contains(line)).find(
            |function| match function.kind {
                FunctionKind::Module
                | FunctionKind::Class
                | FunctionKind::Def
                | FunctionKind::AsyncDef => true,
                FunctionKind::Lambda => line > function.first_line,
                FunctionKind::ListComp
                | FunctionKind::SetComp
                | FunctionKind::DictComp
                | FunctionKind::GenExpr => false,
            },
        )
    }

    /// The function of a recorded frame, by its name (`co_name`) and its line as recorded: the one that is defined on
    /// that line, else the innermost of that name around it, because a frame that was open when recording began (and a
    /// resumed generator) carries its current line. Where the text has none of that name it is the [wrapper](Self::wrapper)
    /// there: torch 2.15 records `decorate_context` as `no_grad` or `inference_mode` (`_set_stack_frame_name` in
    /// `torch/utils/_contextlib.py`). `None` if the text has no such function, so that it is not the one that was recorded.
    #[must_use]
    pub fn definition(&self, name: &str, line: u32) -> Option<&Function> {
        if name == "<module>" {
            return self.functions.first();
        }
        self.named(name)
            .find(|function| function.first_line == line)
            .or_else(|| self.named(name).find(|function| function.def_line == line))
            .or_else(|| self.named(name).filter(|function| function.contains(line)).last())
            .or_else(|| self.wrapper(line).filter(|_| self.named(name).next().is_none()))
    }

    /// The innermost function within a function that begins on `line`, or, if it is decorated, has `line`: a decorator may have given it
    /// another name, and a frame that was open when recording began carries its current line.
    #[must_use]
    pub fn wrapper(&self, line: u32) -> Option<&Function> {
        let is_def = |it: &Function| matches!(it.kind, FunctionKind::Def | FunctionKind::AsyncDef);
        self.functions.iter().rfind(|it| {
            let is_decorated = it.first_line < it.def_line;
            (it.first_line == line || is_decorated && it.contains(line))
                && is_def(it)
                && it.parent.is_some_and(|parent| is_def(&self.functions[parent]))
        })
    }

    /// Whether a line is one of a statement, on which something can run: no comment, and not empty. Of a text with errors, of which
    /// not all may have been read, any line is.
    #[must_use]
    pub fn has_code(&self, line: u32) -> bool {
        let begun = self.code_lines.partition_point(|&(first, _)| first <= line);
        self.has_errors || begun.checked_sub(1).is_some_and(|at| line <= self.code_lines[at].1)
    }

    /// All classes in source order.
    #[must_use]
    pub fn classes(&self) -> &[ClassFacts] {
        &self.classes
    }

    /// All loops in source order.
    #[must_use]
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// The first and last line of the statement on `line`: of the innermost simple statement, header of a compound
    /// statement, or decorator. Statements that share a line (`a(); b()`) are treated as one.
    #[must_use]
    pub fn statement_lines(&self, line: u32) -> RangeInclusive<u32> {
        let after = self.long_statements.partition_point(|&(first, _)| first <= line);
        match after.checked_sub(1).map(|row| self.long_statements[row]) {
            Some((first, last)) if line <= last => first..=last,
            _ => line..=line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One line for each function but the module: its lines, name, and where these differ from the first line, the
    /// definition (`d`) and the body (`b`); then one for each loop, with the function that runs it.
    fn dump(text: &str) -> String {
        let module = Module::parse(text);
        let mut dump = String::new();
        for function in &module.functions()[1..] {
            let Function { first_line, def_line, body_first_line, last_line, .. } = function;
            let def = if def_line == first_line { String::new() } else { format!(" d{def_line}") };
            let body = if body_first_line == first_line {
                String::new()
            } else {
                format!(" b{body_first_line}")
            };
            dump += &format!(
                "{first_line}-{last_line} {:?} {}{def}{body}\n",
                function.kind, function.qualified_name
            );
        }
        for it in module.loops() {
            let function = &module.functions()[it.function].qualified_name;
            dump += &format!(
                "{} {:?} {}-{} in {function}\n",
                it.header_line, it.kind, it.first_line, it.last_line
            );
        }
        dump
    }

    /// Compares a dump with the expected one, which is indented to fit in with the test.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let expected: String = expected
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .fold(String::new(), |text, line| text + line + "\n");
        assert_eq!(dump(text), expected);
    }

    const TRAIN: &str = "\
import torch

@register
@torch.compile(
    fullgraph=True,
)
class SlowModel(torch.nn.Module):
    scale = 2

    @property
    @cached
    def depth(self):
        return 3

    def forward(self, x):
        '''Doc.'''
        for layer in self.layers:
            x = layer(x)
        else:
            x = x + 1
        while x.max() > 1:
            x = x / 2
        return x

async def build(n,
                key=lambda x: x,
                ):
    async def step():
        async for batch in stream():
            await batch
    batch = [
        make(i)
        for i in range(n)
        if i
    ]
    return sorted(batch, key=lambda it: (
        it.size,
        it.name,
    ))
";

    #[test]
    fn functions_and_loops() {
        check(
            TRAIN,
            "
            3-23 Class SlowModel d7 b8
            10-13 Def SlowModel.depth d12 b13
            15-23 Def SlowModel.forward b16
            25-39 AsyncDef build b28
            26-26 Lambda <lambda>
            28-30 AsyncDef build.step b29
            31-35 ListComp build.<listcomp> b32
            36-39 Lambda build.<lambda>
            17 For 18-18 in SlowModel.forward
            21 While 22-22 in SlowModel.forward
            29 For 30-30 in build.step
            33 Comprehension 31-35 in build.<listcomp>
            ",
        );
    }

    #[test]
    fn what_attributes_are_assigned() {
        let module = Module::parse(
            "\
class Block(nn.Module, Base[int]):
    eps: float
    kind = 'pre'
    def __init__(self, dim, drop: float = 0.1, act=None):
        self.norm = nn.LayerNorm(dim)
        self.drop, self.act = drop, act or torch.relu
        self.dim: int = dim
        self.drop = drop
        self.act = act or torch.relu
        self.register_buffer('mask', None)
    def batches(self):
        yield 1
",
        );
        let [class] = module.classes() else { panic!("{:?}", module.classes()) };
        assert_eq!(class.bases, ["Module"]);
        let shown: Vec<String> =
            class.attributes.iter().map(|(name, value)| format!("{name} {value:?}")).collect();
        assert_eq!(
            shown,
            [
                r#"act Named("act")"#,
                r#"act Named("relu")"#,
                "dim Plain",
                "drop Plain",
                "eps Plain",
                "kind Plain",
                r#"mask Made("register_buffer")"#,
                r#"norm Made("LayerNorm")"#,
            ]
        );
        assert_eq!(class.values_of("act").count(), 2);
        let generators: Vec<bool> = module.functions().iter().map(|it| it.is_generator).collect();
        assert_eq!(generators, [false, false, false, true]);
    }

    #[test]
    fn recorded_frames() {
        let module = Module::parse(TRAIN);
        let definition = |name, line| {
            module.definition(name, line).map(|it| (&*it.qualified_name, it.first_line))
        };
        assert_eq!(definition("<module>", 17), Some(("<module>", 1)));
        assert_eq!(definition("forward", 15), Some(("SlowModel.forward", 15)));
        assert_eq!(definition("forward", 18), Some(("SlowModel.forward", 15)), "already open");
        assert_eq!(definition("forward", 25), None);
        assert_eq!(definition("depth", 10), definition("depth", 12), "by decorator or by def");
        assert_eq!(definition("backward", 15), None);
        assert_eq!(definition("<lambda>", 36), Some(("build.<lambda>", 36)));
        assert_eq!(definition("step", 30), Some(("build.step", 28)));
    }

    #[test]
    fn lambdas_and_comprehensions() {
        check(
            "\
f = lambda x, y=lambda: 0: (
    x + y()
)
g = [[y for y in x] for x in [z for z in w]]
def h(xs, key=[d for d in e]):
    a = {x: [y for y in x]
         for x in xs for y in {v for v in x}}
    return sum(
        x for x in xs
    ), any((
        x for x in xs))
class A:
    f = staticmethod(lambda x:
                     [x for x in x])
    if (n := len([i async for i in x])) > 1: pass
",
            "
            1-3 Lambda <lambda> b2
            1-1 Lambda <lambda>
            4-4 ListComp <listcomp>
            4-4 ListComp <listcomp>.<listcomp>
            4-4 ListComp <listcomp>
            5-11 Def h b6
            5-5 ListComp <listcomp>
            6-7 DictComp h.<dictcomp>
            6-6 ListComp h.<dictcomp>.<listcomp>
            7-7 SetComp h.<dictcomp>.<setcomp>
            8-9 GenExpr h.<genexpr> b9
            10-11 GenExpr h.<genexpr> b11
            12-15 Class A b13
            13-14 Lambda A.<lambda> b14
            14-14 ListComp A.<lambda>.<listcomp>
            15-15 ListComp A.<listcomp>
            4 Comprehension 4-4 in <listcomp>
            4 Comprehension 4-4 in <listcomp>.<listcomp>
            4 Comprehension 4-4 in <listcomp>
            5 Comprehension 5-5 in <listcomp>
            7 Comprehension 6-7 in h.<dictcomp>
            6 Comprehension 6-6 in h.<dictcomp>.<listcomp>
            7 Comprehension 7-7 in h.<dictcomp>.<setcomp>
            9 Comprehension 8-9 in h.<genexpr>
            11 Comprehension 10-11 in h.<genexpr>
            14 Comprehension 14-14 in A.<lambda>.<listcomp>
            15 Comprehension 15-15 in A.<listcomp>
            ",
        );
    }

    #[test]
    fn newer_syntax() {
        check(
            "\
type Pair[T] = tuple[T, T]
class Box[T: (int, str)]:
    def get[U](self, key: U) -> T:
        match key:
            case {'a': [x, *_]} if any(i for i in x):
                def inner(): ...
            case _:
                while (n := f()) > 1:
                    pass
        return f'{[i for i in key]!r:>{max(j for j in key)}}'
try:
    pass
except* ValueError:
    def handler(): pass
",
            "
            2-10 Class Box b3
            3-10 Def Box.get b4
            5-5 GenExpr Box.get.<genexpr>
            6-6 Def Box.get.inner
            10-10 ListComp Box.get.<listcomp>
            10-10 GenExpr Box.get.<genexpr>
            14-14 Def handler
            5 Comprehension 5-5 in Box.get.<genexpr>
            8 While 9-9 in Box.get
            10 Comprehension 10-10 in Box.get.<listcomp>
            10 Comprehension 10-10 in Box.get.<genexpr>
            ",
        );
    }

    #[test]
    fn unusual_white_space() {
        let text = "def f():\n\tpass\n\u{c}\n@x\ndef g():\n\tfor i in \\\n\t\tx: \\\n\t\ty()";
        let expected = "1-2 Def f b2\n 4-8 Def g d5 b6\n 6 For 8-8 in g";
        check(text, expected);
        check(&format!("\u{feff}{text}"), expected);
        check(&text.replace('\n', "\r\n"), expected);
        check(&text.replace('\n', "\r"), expected);
        check(
            "def größe():\n  '''\u{2028}'''\n  def 𝔣(): pass\n",
            "1-3 Def größe b2\n 3-3 Def größe.f",
        );
        check("", "");
    }

    #[test]
    fn half_edited_text() {
        let text = "\
def before(x):
    return [y for y in x]

class Model:
    def broken(self, x:
        y = (x +
        self.
    @property
    def next(self):
        return lambda: 1

    def

def after():
    for x in y:
        z(
";
        assert!(Module::parse(text).has_errors());
        assert!(!Module::parse(TRAIN).has_errors());
        check(
            text,
            "
            1-2 Def before b2
            2-2 ListComp before.<listcomp>
            4-12 Class Model b5
            5-7 Def Model.broken b7
            8-10 Def Model.next d9 b10
            10-10 Lambda Model.next.<lambda>
            14-16 Def after b15
            2 Comprehension 2-2 in before.<listcomp>
            15 For 16-16 in after
            ",
        );
        // Where it matters which line is what: the statement with the open bracket says nothing, the others stay.
        let text = "\
def f(x):
    y = g([
        [i for i in x],

    for i in y:
        z(i
        return
    @deco
    async def inner(a, (b):
        pass
    if (x:
        while x:
            pass
    'def ('
";
        check(
            text,
            "
            1-14 Def f b2
            8-10 AsyncDef f.inner d9 b10
            12 While 13-13 in f
            ",
        );
    }

    #[test]
    fn line_to_function() {
        let module = Module::parse(TRAIN);
        let mut runs: Vec<(u32, &str)> = Vec::new();
        for line in 1..=module.n_lines() {
            let name = module.enclosing(line).map_or("", |it| &it.qualified_name);
            if runs.last().is_none_or(|&(_, last)| last != name) {
                runs.push((line, name));
            }
        }
        let runs: Vec<String> = runs.iter().map(|(line, name)| format!("{line} {name}")).collect();
        assert_eq!(
            runs.join(", "),
            "1 <module>, 3 SlowModel, 10 SlowModel.depth, 14 SlowModel, 15 SlowModel.forward, 24 <module>, \
             25 build, 28 build.step, 31 build, 37 build.<lambda>, 40 <module>",
        );
        assert_eq!(module.enclosing(0), None);
        assert_eq!(module.enclosing(41), None);
    }

    #[test]
    fn wrappers_that_were_renamed() {
        let text = "def decorate(f):\n    @wraps(f)\n    def wrapper(x):\n        return f(x)\n    return wrapper\n\
                    @decorate\ndef g(x):\n    return x\n";
        let module = Module::parse(text);
        let name = |name: &str, line| module.definition(name, line).map(|it| &*it.name);
        assert_eq!(name("no_grad", 2), Some("wrapper"));
        assert_eq!(
            name("no_grad", 4),
            Some("wrapper"),
            "a frame that was open carries its current line"
        );
        assert_eq!(name("no_grad", 5), None);
        assert_eq!(name("no_grad", 6), None, "that is no wrapper");
        assert_eq!(name("g", 2), None, "the function is elsewhere");
    }

    #[test]
    fn several_of_a_name() {
        let text = "def f(): pass\nclass A:\n    def f(self):\n        def f():\n            pass\n        f()\n";
        let module = Module::parse(text);
        let lines: Vec<u32> = module.named("f").map(|function| function.first_line).collect();
        assert_eq!(lines, [1, 3, 4]);
        assert_eq!(module.definition("f", 5).map(|it| &*it.qualified_name), Some("A.f.f"));
        assert_eq!(module.definition("f", 6).map(|it| &*it.qualified_name), Some("A.f"));
        assert_eq!(module.definition("f", 2), None);
    }

    #[test]
    fn statements() {
        let text = "\
@deco(
    1)
def f(a,
      b):
    '''Doc.

    More.'''
    x = g(a,
          # why
          b)

    if (x and
            y): return h(
        x)
    return x + \\
        y
";
        let module = Module::parse(text);
        let lines = (1..=module.n_lines()).map(|line| module.statement_lines(line));
        let mut ranges: Vec<String> =
            lines.map(|it| format!("{}-{}", it.start(), it.end())).collect();
        ranges.dedup();
        assert_eq!(ranges.join(" "), "1-2 3-4 5-7 8-10 11-11 12-14 15-16 17-17");
        assert_eq!(module.statement_lines(99), 99..=99);
    }
}
