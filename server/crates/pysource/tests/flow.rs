//! The model of a function's flow against what Python does: `flow/recorded.txt` is what `flow/record.py` saw in
//! Python 3.8 to 3.13 when it ran `flow/snippets*.py`.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fmt::Write;

use pysource::flow::{
    Access, Binding, EdgeKind, Flow, IMPASSABLE, Index, Iterable, Iteration, Site, SiteKind,
    UNREACHABLE,
};
use pysource::flows;
use pysource::{AssignedValue, Module};

/// What the recorder calls what happens at a site; `None` for what it does not see.
fn label(kind: &SiteKind) -> Option<String> {
    let access = |access: &Access| match access {
        Access::Load => "load",
        Access::Store => "store",
        Access::Delete => "del",
    };
    Some(match kind {
        SiteKind::Call { .. } | SiteKind::Decorate { .. } => "call".to_owned(),
        SiteKind::Operator { op, in_place } => {
            format!("{}{}", op.symbol(), if *in_place { "=" } else { "" })
        }
        SiteKind::Unary(op) => format!("u{}", op.symbol()),
        SiteKind::Compare { op, .. } => op.symbol().trim_start_matches("not ").to_owned(),
        SiteKind::Subscript { access: it, .. } => format!("{} []", access(it)),
        // The recorder sees one subscript, however many operators a tensor runs.
        SiteKind::Dimension { .. } => return None,
        SiteKind::Attribute { name, access: it, .. } => format!("{} .{name}", access(it)),
        SiteKind::TruthTest => "truth".to_owned(),
        SiteKind::Iterate(Iteration::Start) => "iter".to_owned(),
        SiteKind::Iterate(Iteration::Next) => "next".to_owned(),
        SiteKind::Unpack { .. } => "unpack".to_owned(),
        SiteKind::Spread { .. } => "spread".to_owned(),
        SiteKind::Hash => "hash".to_owned(),
        SiteKind::Enter => "enter".to_owned(),
        SiteKind::Exit => "exit".to_owned(),
        SiteKind::Format => "format".to_owned(),
        SiteKind::Await => "await".to_owned(),
        SiteKind::Comprehension { .. } | SiteKind::ClassDef { .. } => "frame".to_owned(),
        SiteKind::Generator { .. }
        | SiteKind::Import(_)
        | SiteKind::Yield
        | SiteKind::Raise
        | SiteKind::Close => {
            return None;
        }
    })
}

fn allows(site: &Site, line: u32, what: &str, minor: u8) -> bool {
    let known = match what.split_once(' ') {
        // A function of the snippets, run by a call, a step of a generator, or a comprehension.
        Some(("frame", _)) => matches!(
            site.kind,
            SiteKind::Call { .. }
                | SiteKind::Iterate(Iteration::Next)
                | SiteKind::Comprehension { .. }
                | SiteKind::ClassDef { .. }
        ),
        // `str.format` formats its arguments.
        _ if what == "format" && matches!(site.kind, SiteKind::Call { .. }) => true,
        _ => label(&site.kind).as_deref() == Some(what),
    };
    // The exit shows the last line that ran.
    let is_anywhere = site.kind == SiteKind::Exit && minor <= 9;
    known && (is_anywhere || site.line_in(minor) == line)
}

/// What the recorder does not see: calls of built-ins, generators that are their own iterators.
fn is_silent(snippet: &str, kind: &SiteKind) -> bool {
    const UNSEEN: [&str; 5] = ["ValueError", "format", "join", "super", "run"];
    match kind {
        SiteKind::Call { callee, .. } => callee.name().is_some_and(|it| UNSEEN.contains(&it)),
        SiteKind::Attribute { name, .. } => UNSEEN.contains(&&**name),
        SiteKind::Iterate(Iteration::Start) => snippet == "gen_loop" || snippet == "gen_two",
        SiteKind::Unpack { .. } => snippet == "match_nested",
        kind => label(kind).is_none(),
    }
}

/// The nodes after `node` and whatever the recorder does not see.
fn after(snippet: &str, flow: &Flow, from: impl IntoIterator<Item = u32>) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut open: Vec<u32> = from.into_iter().collect();
    while let Some(node) = open.pop() {
        for (next, _) in flow.edges(node) {
            let passes = flow.site(next).is_none_or(|site| is_silent(snippet, &site.kind));
            if found.insert(next) && passes {
                open.push(next);
            }
        }
    }
    found
}

/// How far the events are a path through the flow.
fn follow(snippet: &str, flow: &Flow, events: &[(u32, &str)], minor: u8) -> Result<(), usize> {
    let mut at = BTreeSet::from([flow.entry]);
    for (row, (line, what)) in events.iter().enumerate() {
        let next = after(snippet, flow, at);
        at = next
            .into_iter()
            .filter(|&node| flow.site(node).is_some_and(|site| allows(site, *line, what, minor)))
            .collect();
        if at.is_empty() {
            return Err(row);
        }
    }
    // The recorder stops after so many events.
    let is_cut = events.len() >= 30;
    if is_cut || after(snippet, flow, at).contains(&flow.exit) { Ok(()) } else { Err(events.len()) }
}

/// What is known to be different, and not worth a model: evaluation order or lines of a version before 3.10.
fn is_known(function: &str, minor: u8) -> bool {
    match function {
        // `*` and `**` were unpacked together, at the end; lines of joined strings were those of the first.
        "spreads" | "dict_lines" | "hashed" | "f_string_joined" | "f_string_nested" => minor == 8,
        _ => false,
    }
}

#[test]
fn as_python_does() {
    let mut failures = String::new();
    let mut n_followed = 0;
    let (mut module, mut all) = (Module::default(), Vec::new());
    let (mut file, mut snippet) = ("", "");
    for row in include_str!("flow/recorded.txt").lines() {
        if let Some(header) = row.strip_prefix("== ") {
            let (in_file, name) = header.split_once(' ').unwrap();
            if in_file != file {
                file = in_file;
                let text = match file {
                    "snippets.py" => include_str!("flow/snippets.py"),
                    _ => include_str!("flow/snippets310.py"),
                };
                module = Module::parse(text);
                all = flows(text, &(0..module.functions().len()).collect::<Vec<_>>());
            }
            snippet = name;
            continue;
        }
        let (frame, rest) = row.split_once(": ").unwrap();
        let (versions, events) = rest.split_once(": ").unwrap();
        let (name, first_line) = frame.rsplit_once(' ').unwrap();
        let events: Vec<(u32, &str)> = events
            .split("; ")
            .filter_map(|event| event.split_once(' '))
            .map(|(line, what)| (line.parse().unwrap(), what))
            .collect();
        let function = module
            .functions()
            .iter()
            .position(|it| it.name == name && it.first_line == first_line.parse::<u32>().unwrap());
        // Of comprehensions within each other on one line, which is meant is not recorded.
        let candidates: Vec<&Flow> = match function {
            Some(_) if name == "<listcomp>" => all
                .iter()
                .filter(|flow| {
                    let it = &module.functions()[flow.function];
                    it.name == name && it.first_line.to_string() == first_line
                })
                .collect(),
            Some(function) => vec![&all[function]],
            None => panic!("no function {frame}"),
        };
        for version in versions.split(' ').collect::<BTreeSet<_>>() {
            let minor = version.strip_prefix("3.").unwrap().parse().unwrap();
            if is_known(snippet, minor) {
                continue;
            }
            let furthest = candidates
                .iter()
                .map(|flow| follow(snippet, flow, &events, minor))
                .max_by_key(|it| match it {
                    Ok(()) => usize::MAX,
                    Err(row) => *row,
                });
            match furthest {
                Some(Err(row)) => {
                    let event = events.get(row);
                    writeln!(failures, "{frame} in {version}: {row}: {event:?}\n  {rest}").unwrap();
                }
                _ => n_followed += 1,
            }
        }
    }
    assert_eq!(failures, "");
    assert!(n_followed > 1000, "{n_followed}");
}

/// One site a line: number, line, what, text; then where it goes on, `!` by exception. Joins are passed through.
fn dump(text: &str, function: &str) -> String {
    let module = Module::parse(text);
    let row = module.functions().iter().position(|it| it.qualified_name == function).unwrap();
    let flow = flows(text, &[row]).remove(0);
    let name = |node: u32| match node {
        node if node == flow.exit => "end".to_owned(),
        node => node.to_string(),
    };
    let ways = |from: u32| {
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![(from, EdgeKind::Normal)];
        while let Some((node, way)) = open.pop() {
            for (next, kind) in flow.edges(node) {
                let kind = kind.max(way);
                if !seen.insert((next, kind)) {
                } else if flow.site(next).is_some() || next == flow.exit {
                    found.insert((next, kind));
                } else {
                    open.push((next, kind));
                }
            }
        }
        let ways: Vec<String> = found
            .iter()
            .map(|&(next, kind)| match kind {
                EdgeKind::Normal => name(next),
                EdgeKind::Exception => format!("!{}", name(next)),
            })
            .collect();
        ways.join(" ")
    };
    let mut out = format!("begin: {}\n", ways(flow.entry));
    for (node, site) in flow.sites.iter().enumerate() {
        let what = match &site.kind {
            SiteKind::Call { callee, positional, keywords, passes, .. } => {
                let mut what = format!("call {}/{positional}+{keywords}", callee.path.join("."));
                passes.iter().for_each(|it| write!(what, " #{it}").unwrap());
                what + if callee.is_super { " super" } else { "" }
            }
            SiteKind::Comprehension { function } => format!("comprehension #{function}"),
            SiteKind::Generator { function } => format!("generator #{function}"),
            SiteKind::Decorate { function } => format!("decorate #{function}"),
            SiteKind::ClassDef { function } => format!("class #{function}"),
            SiteKind::Unpack { n } => format!("unpack {n}"),
            SiteKind::Spread { mapping } => format!("spread {}", if *mapping { "**" } else { "*" }),
            SiteKind::Import(_) => "import".to_owned(),
            SiteKind::Yield => "yield".to_owned(),
            SiteKind::Raise => "raise".to_owned(),
            kind => label(kind).unwrap(),
        };
        let inlined = site.inlined.map_or(String::new(), |it| format!(" in #{it}"));
        let source = &text[site.text.start as usize..site.text.end as usize];
        let source: String = source.split_whitespace().collect::<Vec<_>>().join(" ");
        let node = node as u32;
        writeln!(out, "{node} @{} {what}{inlined} `{source}` -> {}", site.line, ways(node))
            .unwrap();
    }
    out
}

#[test]
fn sites_and_ways() {
    let text = "\
class Net(Base):
    @torch.no_grad()
    def forward(self, x, *rest, **kw):
        for i, layer in indexed(self.layers):
            x = self.blocks[i](layer(x), *rest, scale=2) if i else -x
        try:
            x += super().forward(x, **kw).mean(dim=-1)
        except ValueError:
            return None
        finally:
            self.log(f'{x}', key=lambda: 0)
        return [h / 2 for h in x if h is not None]
";
    assert_eq!(
        dump(text, "Net.forward"),
        "\
begin: 0
0 @4 load .layers `self.layers` -> 1 !end
1 @4 call indexed/1+0 `indexed(self.layers)` -> 2 !end
2 @4 iter `indexed(self.layers)` -> 3 !end
3 @4 next `indexed(self.layers)` -> 4 12 !end
4 @4 unpack 2 `i, layer` -> 5 !end
5 @5 truth `i` -> 6 11 !end
6 @5 load .blocks `self.blocks` -> 7 !end
7 @5 load [] `self.blocks[i]` -> 8 !end
8 @5 call layer/1+0 `layer(x)` -> 9 !end
9 @5 spread * `*rest` -> 10 !end
10 @5 call self.blocks.[]/2+1 `self.blocks[i](layer(x), *rest, scale=2)` -> 3 !end
11 @5 u- `-x` -> 3 !end
12 @7 call super/0+0 `super()` -> 13 !19
13 @7 load .forward `super().forward` -> 14 !19
14 @7 spread ** `**kw` -> 15 !19
15 @7 call super.().forward/1+1 super `super().forward(x, **kw)` -> 16 !19
16 @7 load .mean `super().forward(x, **kw).mean` -> 17 !19
17 @7 call super.().forward.().mean/0+1 `super().forward(x, **kw).mean(dim=-1)` -> 18 !19
18 @7 += `x += super().forward(x, **kw).mean(dim=-1)` -> 19 !19
19 @11 load .log `self.log` -> 20 !end
20 @11 format `{x}` -> 21 !end
21 @11 call self.log/1+1 #3 `self.log(f'{x}', key=lambda: 0)` -> 22 end !end
22 @12 iter `x` -> 23 24 !end
23 @12 comprehension #4 `[h / 2 for h in x if h is not None]` -> end !end
24 @12 next in #4 `x` -> 24 25 end !end
25 @12 / in #4 `h / 2` -> 24 !end
"
    );
    assert_eq!(
        dump(text, "Net.forward.<listcomp>"),
        "\
begin: 0
0 @12 next `x` -> 0 1 end !end
1 @12 / `h / 2` -> 0 !end
"
    );
    assert_eq!(
        dump(text, "Net"),
        "\
begin: 0
0 @2 load .no_grad `torch.no_grad` -> 1 !end
1 @2 call torch.no_grad/0+0 `torch.no_grad()` -> 2 !end
2 @2 decorate #2 `@torch.no_grad()` -> end !end
"
    );
    assert_eq!(
        dump(text, "<module>"),
        "\
begin: 0
0 @1 class #1 `Net` -> end !end
"
    );
}

#[test]
fn generators_and_classes() {
    let text = "\
import torch
@register
class Data(torch.Dataset, key=len):
    size: int = 2 * 8

    def __iter__(self, n=limit()):
        while (batch := self.next()) is not None and batch:
            if not batch.ok or 0 < n < 5:
                continue
            yield batch @ 2 and n or self.none
        with self.lock as self.held:
            yield from (b[0] for a in self.rest for b in a)
        assert n, f'{n:>{n}}'
";
    assert_eq!(
        dump(text, "<module>"),
        "\
begin: 0
0 @1 import `import torch` -> 1 !end
1 @3 load .Dataset `torch.Dataset` -> 2 !end
2 @3 class #1 `Data` -> 3 !end
3 @2 decorate #1 `@register` -> end !end
"
    );
    assert_eq!(
        dump(text, "Data"),
        "\
begin: 0
0 @6 call limit/0+0 `limit()` -> end !end
"
    );
    assert_eq!(
        dump(text, "Data.__iter__"),
        "\
begin: 0
0 @7 load .next `self.next` -> 1 !end
1 @7 call self.next/0+0 `self.next()` -> 2 14 !end
2 @7 truth `batch` -> 3 14 !end
3 @8 load .ok `batch.ok` -> 4 !end
4 @8 truth `batch.ok` -> 0 5 !end
5 @8 < `0 < n` -> 6 !end
6 @8 truth `0 < n` -> 7 9 !end
7 @8 < `0 < n < 5` -> 8 !end
8 @8 truth `0 < n < 5` -> 0 9 !end
9 @10 @ `batch @ 2` -> 10 !end
10 @10 truth `batch @ 2` -> 11 12 !end
11 @10 truth `batch @ 2 and n` -> 12 13 !end
12 @10 load .none `self.none` -> 13 !end
13 @10 yield `yield batch @ 2 and n or self.none` -> 0 !end
14 @11 load .lock `self.lock` -> 15 !end
15 @11 enter `self.lock` -> 16 !end
16 @11 store .held `self.held` -> 17 !23
17 @12 load .rest `self.rest` -> 18 !23
18 @12 iter `self.rest` -> 19 !23
19 @12 generator #3 `(b[0] for a in self.rest for b in a)` -> 20 !23
20 @12 iter `yield from (b[0] for a in self.rest for b in a)` -> 21 !23
21 @12 next `yield from (b[0] for a in self.rest for b in a)` -> 22 23 !23
22 @12 yield `yield from (b[0] for a in self.rest for b in a)` -> 21 !23
23 @11 exit `self.lock` -> 24 !end
24 @13 truth `n` -> 25 end !end
25 @13 format `{n}` -> 26 !end
26 @13 format `{n:>{n}}` -> 27 !end
27 @13 raise `assert n, f'{n:>{n}}'` -> !end
"
    );
    assert_eq!(
        dump(text, "Data.__iter__.<genexpr>"),
        "\
begin: 0
0 @12 next `self.rest` -> 1 end !end
1 @12 iter `a` -> 2 !end
2 @12 next `a` -> 0 3 !end
3 @12 load [] `b[0]` -> 4 !end
4 @12 yield `b[0]` -> 2 !end
"
    );
}

#[test]
fn distances() {
    let text = "\
def f(a):
    a()
    while a:
        b()
        if c:
            return d()
    e()
";
    let flow = flows(text, &[1]).remove(0);
    let cost = vec![10, 1, 20, 3, 40, 50];
    let from = |node: u32, cost: &[u16], exception: u32| {
        let paths = flow.shortest_paths(node, cost, |_, _, kind| match kind {
            EdgeKind::Normal => 0,
            EdgeKind::Exception => exception,
        });
        let shown = (0..flow.sites.len() as u32).chain([flow.exit]).map(|node| paths.cost(node));
        let shown: Vec<String> = shown
            .map(|it| if it == UNREACHABLE { "-".to_owned() } else { it.to_string() })
            .collect();
        shown.join(" ")
    };
    // a(), while a, b(), if c, d(), e(); end.
    assert_eq!(from(flow.entry, &cost, UNREACHABLE), "0 10 11 31 34 11 61");
    assert_eq!(from(0, &cost, UNREACHABLE), "- 0 1 21 24 1 51");
    assert_eq!(from(2, &cost, UNREACHABLE), "- 3 4 0 3 4 43");
    assert_eq!(from(4, &cost, UNREACHABLE), "- - - - - - 0");
    assert_eq!(from(flow.exit, &cost, UNREACHABLE), "- - - - - - -");
    assert_eq!(from(99, &cost, 0), "- - - - - - -");
    assert_eq!(from(2, &cost, 7), "- 3 4 0 3 4 7", "or it raises");
    let solid = vec![IMPASSABLE; 6];
    assert_eq!(from(0, &solid, UNREACHABLE), "- 0 - - - - -");
    assert_eq!(from(1, &solid, UNREACHABLE), "- - 0 - - 0 -");
    assert_eq!(from(0, &[], UNREACHABLE), "- 0 - - - - -");
}

/// Flows are numbered as the functions are, and every site lies within its function.
fn check(text: &str) {
    let module = Module::parse(text);
    let all: Vec<usize> = (0..module.functions().len() + 1).collect();
    let flows = flows(text, &all);
    assert_eq!(flows.len(), all.len());
    for flow in &flows {
        let Some(function) = module.functions().get(flow.function) else {
            assert!(flow.sites.is_empty());
            continue;
        };
        let costs = vec![1; flow.sites.len()];
        let paths = flow.shortest_paths(flow.entry, &costs, |_, _, _| 1);
        let mut edges = Vec::new();
        // The paths to all nodes of a long text have too many edges.
        let step = (flow.n_nodes() as usize).div_ceil(50).max(1);
        (0..flow.n_nodes()).step_by(step).for_each(|node| paths.edges(node, &mut edges));
        assert!(edges.iter().all(|&(from, to)| flow.edges(from).any(|(target, _)| target == to)));
        for site in &flow.sites {
            assert!(function.contains(site.line), "{function:?} {site:?}");
            assert!(site.text.start <= site.text.end);
            assert!(text.get(site.text.start as usize..site.text.end as usize).is_some());
        }
        for &node in flow.resume_points.iter() {
            assert!(matches!(flow.site(node).unwrap().kind, SiteKind::Yield | SiteKind::Await));
        }
    }
}

#[test]
fn half_edited() {
    let text = concat!(include_str!("flow/snippets.py"), include_str!("flow/snippets310.py"));
    check(text);
    // Cut anywhere, and with a piece missing.
    for end in (0..text.len()).step_by(97) {
        check(&text[..end]);
    }
    for start in (0..text.len() - 40).step_by(211) {
        check(&format!("{}{}", &text[..start], &text[start + 23..]));
    }
    for text in [
        "break",
        "return x()",
        "class :\n  f()\ndef ():\n  g()",
        "x = (yield",
        "def f(a=lambda: [x for",
        "del f(",
        "try:\n  f(",
        "match x:\n case",
        "with a as b, c as",
        "f'{x:{y",
        "[*",
        "é = é.é\r\nü(é)\rx",
        "await x",
        "async def f(): [x async for x in await y]",
        "for x in y: break\nelse: continue",
    ] {
        check(text);
    }
}

#[test]
fn deeply_nested() {
    for n in [2_000, 20_000] {
        check(&format!("x = {}y{}", "[".repeat(n), "]".repeat(n)));
        check(&format!("x = y{}", "(z)".repeat(n)));
        check(&format!("x = y{}", " + z".repeat(n)));
        check(&format!("x = 1{}", " + 1".repeat(n)));
        check(&format!("if {}y: z", "not ".repeat(n)));
        check(&format!("x = y{}", ".z".repeat(n)));
    }
    check(&format!("x = {}y{}", "[".repeat(200), " for z in y]".repeat(200)));
    let nested: String = (0..90).map(|n| format!("{}try:\n", " ".repeat(n))).collect();
    let finally: String =
        (0..90).rev().map(|n| format!("{}finally: f()\n", " ".repeat(n))).collect();
    check(&format!("{nested}{}return\n{finally}", " ".repeat(90)));
}

/// What each call's first name is bound to, in order.
fn bindings(text: &str, function: usize) -> Vec<String> {
    let flow = flows(text, &[function]).remove(0);
    let calls = flow.sites.iter().filter_map(|site| match &site.kind {
        SiteKind::Call { callee, .. } => Some((callee.path.join("."), &callee.binding)),
        _ => None,
    });
    let shown = |binding: &Binding| match binding {
        Binding::None => "none".to_owned(),
        Binding::Variable { values, is_global } => {
            format!("{} {values:?}", if *is_global { "global" } else { "variable" })
        }
        Binding::Defined { function } => format!("function {function}"),
        Binding::Imported { path, .. } => format!("imported {path}"),
        Binding::Builtin => "built-in".to_owned(),
    };
    calls.map(|(name, binding)| format!("{name}: {}", shown(binding))).collect()
}

#[test]
fn names_are_bound() {
    let text = "\
import torch.nn.functional as F
from copy import deepcopy as clone
head = Head(3)
def outer(model, hooks):
    step = model.step if model else helper
    size = 3
    def inner(x):
        nonlocal size
        step(x); clone(x); F.relu(x); head(x); helper(); len(x); [f(y) for f in hooks]; x()()
    inner(1)
def helper(): ...
";
    assert_eq!(
        bindings(text, 2),
        [
            r#"step: variable [Named("step"), Named("helper")]"#,
            "clone: imported copy.deepcopy",
            "F.relu: imported torch.nn.functional",
            r#"head: global [Made("Head")]"#,
            "helper: function 4",
            "len: built-in",
            "f: variable [Unknown]",
            "x: variable [Unknown]",
            "x.(): variable [Unknown]",
        ]
    );
    assert_eq!(bindings(text, 1), ["inner: function 2"]);
}

#[test]
fn iterables_are_bound() {
    let text = "def f(xs):\n    ys = make(xs)\n    for y in ys:\n        a, b = y\n";
    let flow = flows(text, &[1]).remove(0);
    let made = Binding::Variable {
        values: vec![AssignedValue::Made("make".to_owned())],
        is_global: false,
    };
    let variable = Binding::Variable { values: vec![AssignedValue::Unknown], is_global: false };
    let found: Vec<_> = flow.sites.iter().map(|site| &site.iterable).collect();
    let (made, variable) = (Iterable::Name(made), Iterable::Name(variable));
    assert_eq!(found, [&Iterable::Other, &made, &made, &variable]);
}

/// The subscripts of a text: slices, new dimensions, indices, `p` for plain sequences, `l` for literals.
fn indices(text: &str) -> Vec<String> {
    let flow = flows(text, &[0]).remove(0);
    let indices = flow.sites.iter().filter_map(|site| match site.kind {
        SiteKind::Subscript { index, .. } => Some(index),
        _ => None,
    });
    let plain = |it: Index| if it.is_of_plain { "p" } else { "" };
    let literal = |it: Index| if it.is_literal { "l" } else { "" };
    let row = |it: Index| {
        format!("{} {} {}{}{}", it.slices, it.new_axes, it.indices, plain(it), literal(it))
    };
    indices.map(row).collect()
}

#[test]
fn brackets_are_read_from_the_tree() {
    let cases = [
        ("x[0]", "0 0 1l"),
        ("x[-1]", "0 0 1l"),
        ("x[:, 1:, None, ..., i]", "1 1 1"),
        ("x['a,b:c']", "0 0 1l"),
        ("x['[']", "0 0 1l"),
        ("x[f(a, b)]", "0 0 1"),
        ("x[lambda: 0]", "0 0 1"),
        ("x[{a: b}]", "0 0 1"),
        ("x.shape[0]", "0 0 1pl"),
        ("x.size()[i]", "0 0 1p"),
        ("kwargs['a']", "0 0 1pl"),
    ];
    for (text, expected) in cases {
        assert_eq!(indices(text), [expected], "{text}");
    }
}

#[test]
fn names_of_an_expression_are_not_those_of_its_strings() {
    let text = "f(a.b, 'c d', key=e)  # g\n";
    let flow = flows(text, &[0]).remove(0);
    let call = flow.sites.last().unwrap();
    let names: Vec<_> = flow.mentions(call).iter().collect();
    assert_eq!(names, ["f", "a", "b", "key", "e"]);
    assert!(flow.mentions(call).contains("b"));
    assert!(!flow.mentions(call).contains("c"));
}
