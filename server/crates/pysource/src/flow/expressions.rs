//! Expressions.

use ruff_python_ast::{
    Arguments, BoolOp, CmpOp, Expr, ExprAttribute, ExprBinOp, ExprBoolOp, ExprCall, ExprCompare,
    ExprDict, ExprStarred, ExprSubscript, InterpolatedStringElement, Operator,
};
use ruff_text_size::{Ranged, TextRange};

use super::builder::FlowBuilder;
use super::known_names::NameValue;
use super::lines::LinesByVersion;
use super::{
    Access, BinaryOp, Binding, CallArguments, Callee, CompareOp, Index, Iteration, SiteKind,
    UnaryOp, is_of_itertools, takes_later,
};
use crate::collect::is_self;
use crate::semantic::{Loops, ScopeCode};
use crate::stack_guard::guarded;
use crate::values::{AssignedValue, last_name};

/// Comprehensions nested deeper than that are not inlined: that would be quadratic in the text, and such code is
/// not written.
const MAX_INLINED: u32 = 8;
/// Longer callees are cut at the front: those of a long chain of calls would be quadratic in the text.
const MAX_PATH: usize = 32;
/// [`FlowBuilder::here`] in a comprehension: its instructions have no line, and get that of the one before.
const NO_LINE: u32 = 0;

impl<'a> FlowBuilder<'_, 'a> {
    pub(super) fn exprs(&mut self, exprs: impl IntoIterator<Item = &'a Expr>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    /// Evaluates an expression.
    pub(super) fn expr(&mut self, expr: &'a Expr) {
        self.evaluated(expr);
    }

    /// Evaluates an expression. Whether it is a constant that CPython knows when it compiles is returned; then nothing
    /// happens when it runs.
    fn evaluated(&mut self, expr: &'a Expr) -> bool {
        if expr.is_name_expr() || expr.is_literal_expr() {
            return expr.is_literal_expr();
        }
        let outer = (self.here, self.here_310);
        let line = self.line_of(expr);
        (self.here, self.here_310) = (line, line);
        let is_constant = guarded(|| match expr {
            Expr::BinOp(it) => {
                let (left, right) = (self.evaluated(&it.left), self.evaluated(&it.right));
                if !(left && right) {
                    let op = binary(it.op);
                    let kind = SiteKind::Operator { op, in_place: false };
                    self.site(kind, LinesByVersion::same(line), it.range);
                    self.works_on([&*it.left, &*it.right]);
                    if is_of_list(it) {
                        self.expect_last_plain(expr);
                    }
                }
                left && right
            }
            Expr::UnaryOp(it) => {
                let is_constant = self.evaluated(&it.operand);
                if let Some(kind) = unary(it.op, &it.operand).filter(|_| !is_constant) {
                    self.site(kind, LinesByVersion::same(line), it.range);
                    self.works_on([&*it.operand]);
                }
                is_constant
            }
            _ => {
                self.expr_here(expr, line);
                false
            }
        });
        (self.here, self.here_310) = outer;
        is_constant
    }

    fn expr_here(&mut self, expr: &'a Expr, line: u32) {
        let lines = LinesByVersion::same(line);
        match expr {
            Expr::BoolOp(it) => {
                let decided = self.bool_op(it);
                self.at = self.merge(self.at, decided);
            }
            Expr::Named(it) => {
                self.expr(&it.value);
                // Whether the way comes by here is open.
                self.forget_bound_in(it.range);
            }
            Expr::Lambda(it) => {
                if let Some(parameters) = &it.parameters {
                    self.defaults(parameters);
                }
            }
            Expr::If(it) => {
                let (then, otherwise) = (self.join(), self.join());
                self.condition(&it.test, then, otherwise);
                self.at = Some(then);
                self.expr_where(&it.test, true, &it.body);
                let end = self.at;
                self.at = Some(otherwise);
                self.expr_where(&it.test, false, &it.orelse);
                self.at = self.merge(end, self.at);
            }
            Expr::Dict(it) => self.dict(it, lines),
            Expr::Set(it) => self.set(&it.elts, lines),
            Expr::List(it) => self.elements(&it.elts, lines),
            Expr::Tuple(it) => self.elements(&it.elts, lines),
            Expr::ListComp(it) => self.comprehension(self.scopes.number(it)),
            Expr::SetComp(it) => self.comprehension(self.scopes.number(it)),
            Expr::DictComp(it) => self.comprehension(self.scopes.number(it)),
            Expr::Generator(it) => self.comprehension(self.scopes.number(it)),
            Expr::Await(it) => {
                self.expr(&it.value);
                self.awaited(lines, it.range);
            }
            Expr::Yield(it) => {
                self.exprs(it.value.as_deref());
                self.site(SiteKind::Yield, lines, it.range);
            }
            Expr::YieldFrom(it) => {
                self.expr(&it.value);
                self.site(SiteKind::Iterate(Iteration::Start), lines, it.range);
                let next = self.site(SiteKind::Iterate(Iteration::Next), lines, it.range);
                self.take_from(2, &it.value);
                self.site(SiteKind::Yield, lines, it.range);
                self.go_to(next);
                self.at = Some(next);
            }
            Expr::Compare(it) => self.compare(it, lines),
            Expr::Call(it) => self.call(it, line),
            Expr::FString(it) => self.formatted(it.value.elements(), line, true),
            Expr::TString(it) => self.formatted(it.value.elements(), line, false),
            Expr::Attribute(it) => {
                self.expr(&it.value);
                self.attribute(it, Access::Load, false);
            }
            Expr::Subscript(it) => {
                self.expr(&it.value);
                self.expr(&it.slice);
                self.subscript(it, Access::Load);
            }
            Expr::Starred(it) => self.expr(&it.value),
            Expr::Slice(it) => {
                let parts = [&it.lower, &it.upper, &it.step];
                parts.into_iter().for_each(|part| self.exprs(part.as_deref()));
            }
            Expr::BinOp(_)
            | Expr::UnaryOp(_)
            | Expr::StringLiteral(_)
            | Expr::BytesLiteral(_)
            | Expr::NumberLiteral(_)
            | Expr::BooleanLiteral(_)
            | Expr::NoneLiteral(_)
            | Expr::EllipsisLiteral(_)
            | Expr::Name(_)
            | Expr::IpyEscapeCommand(_) => {}
        }
    }

    /// Evaluates an expression where `test` holds, or where it does not.
    fn expr_where(&mut self, test: &'a Expr, holds: bool, expr: &'a Expr) {
        let mark = self.known.mark();
        self.known.narrow(test, holds);
        self.expr(expr);
        self.known.unlearn(mark);
    }

    /// Evaluates a condition, and goes to `then` if it holds, else to `otherwise`. As CPython's `compiler_jump_if`.
    pub(super) fn condition(&mut self, test: &'a Expr, then: u32, otherwise: u32) {
        guarded(|| self.condition_here(test, then, otherwise));
        self.at = None;
    }

    fn condition_here(&mut self, test: &'a Expr, then: u32, otherwise: u32) {
        match test {
            Expr::UnaryOp(it) if it.op == ruff_python_ast::UnaryOp::Not => {
                return self.condition(&it.operand, otherwise, then);
            }
            Expr::BoolOp(it) => {
                let Some((last, others)) = it.values.split_last() else { return };
                let mark = self.known.mark();
                for value in others {
                    let next = self.join();
                    match it.op {
                        BoolOp::And => self.condition(value, next, otherwise),
                        BoolOp::Or => self.condition(value, then, next),
                    }
                    self.at = Some(next);
                    self.known.narrow(value, it.op == BoolOp::And);
                }
                self.condition(last, then, otherwise);
                return self.known.unlearn(mark);
            }
            Expr::If(it) => {
                let (body, orelse) = (self.join(), self.join());
                self.condition(&it.test, body, orelse);
                self.at = Some(body);
                self.condition(&it.body, then, otherwise);
                self.at = Some(orelse);
                return self.condition(&it.orelse, then, otherwise);
            }
            Expr::Compare(it) => {
                self.here_310 = self.line_of(test);
                if it.ops.len() > 1 {
                    let lines = self.lines_of_test(test);
                    let holds = self.compare_chain(it, lines, otherwise);
                    self.link(holds, then);
                    self.link(self.at, otherwise);
                    return;
                }
                self.expr(test);
                if it.comparators.iter().any(is_named_constant) {
                    self.expect_last_plain(test);
                }
            }
            _ => match constant_truth(test) {
                Some(holds) => return self.go_to(if holds { then } else { otherwise }),
                None => self.expr(test),
            },
        }
        if !is_bool(test) {
            self.site(SiteKind::TruthTest, self.lines_of_test(test), test.range());
            self.works_on([test]);
        }
        self.part(test, then, otherwise);
    }

    fn lines_of_test(&self, test: &Expr) -> LinesByVersion {
        let line = self.line_of(test);
        let lines = LinesByVersion::same(line).with(10..=11, self.here_310);
        if self.here == NO_LINE { lines } else { lines.with(0..=9, self.here) }
    }

    /// A chain of comparisons and truth tests, the last one's too; after each that fails it goes on at `fails`. The
    /// way goes on from where the last has been tested.
    fn compare_chain(
        &mut self,
        it: &'a ExprCompare,
        lines: LinesByVersion,
        fails: u32,
    ) -> Option<u32> {
        self.expr(&it.left);
        for (row, (&op, comparator)) in it.ops.iter().zip(&it.comparators).enumerate() {
            self.expr(comparator);
            let range = TextRange::new(it.start(), comparator.end());
            if let Some(op) = comparison(op) {
                let left = if row == 0 { &*it.left } else { &it.comparators[row - 1] };
                self.compared(op, left, comparator, lines, range);
                if !matches!(op, CompareOp::In | CompareOp::NotIn) {
                    self.site(SiteKind::TruthTest, lines, range);
                    self.works_on([left, comparator]);
                }
            }
            if row + 1 < it.ops.len() {
                self.go_to(fails);
            }
        }
        self.at
    }

    /// One comparison of what has been evaluated.
    fn compared(
        &mut self,
        op: CompareOp,
        left: &'a Expr,
        right: &'a Expr,
        lines: LinesByVersion,
        range: TextRange,
    ) {
        self.site(compared(op, left, right), lines, range);
        self.works_on([left, right]);
        if matches!(op, CompareOp::In | CompareOp::NotIn) {
            self.note_key(left, right);
        }
    }

    /// Comparisons for their value.
    fn compare(&mut self, it: &'a ExprCompare, lines: LinesByVersion) {
        let decided = (it.ops.len() > 1).then(|| self.join());
        self.expr(&it.left);
        for (row, (&op, comparator)) in it.ops.iter().zip(&it.comparators).enumerate() {
            self.expr(comparator);
            let range = TextRange::new(it.start(), comparator.end());
            let op = comparison(op);
            if let Some(op) = op {
                let left = if row == 0 { &*it.left } else { &it.comparators[row - 1] };
                self.compared(op, left, comparator, lines, range);
            }
            if let Some(decided) = decided.filter(|_| row + 1 < it.ops.len()) {
                if op.is_some_and(|op| !matches!(op, CompareOp::In | CompareOp::NotIn)) {
                    let left = if row == 0 { &*it.left } else { &it.comparators[row - 1] };
                    self.site(SiteKind::TruthTest, lines, range);
                    self.works_on([left, comparator]);
                }
                self.go_to(decided);
            }
        }
        self.at = self.merge(self.at, decided);
    }

    /// `and` or `or` for its value. The way goes on behind the last operand; where it does once an earlier one has
    /// decided is returned.
    fn bool_op(&mut self, it: &'a ExprBoolOp) -> Option<u32> {
        let decided = self.join();
        let lines = LinesByVersion::same(self.line_of(it));
        for (row, value) in it.values.iter().enumerate() {
            let inner = match value {
                Expr::BoolOp(inner) => guarded(|| self.bool_op(inner)).map(|join| (inner.op, join)),
                _ => {
                    self.expr(value);
                    None
                }
            };
            if let Some((_, join)) = inner {
                self.at = self.merge(self.at, Some(join));
            }
            if row + 1 == it.values.len() {
                break;
            }
            if !is_bool(value) {
                self.site(SiteKind::TruthTest, lines, value.range());
                self.works_on([value]);
            }
            self.go_to(decided);
            if let Some((op, join)) = inner {
                // What decided the inner one is false if it was an `and`, and true if it was an `or`.
                if op == it.op {
                    self.link(Some(join), decided);
                } else {
                    self.at = self.merge(self.at, Some(join));
                }
            }
        }
        Some(decided)
    }

    /// What stands before `**`, and behind it, is put into the dictionary at once.
    fn dict(&mut self, it: &'a ExprDict, lines: LinesByVersion) {
        for items in it.items.split_inclusive(|item| item.key.is_none()) {
            for item in items.iter().filter(|item| item.key.is_some()) {
                self.exprs(item.key.as_ref());
                self.expr(&item.value);
            }
            self.hashed(items.iter().filter_map(|item| item.key.as_ref()), lines);
            if let Some(spread) = items.last().filter(|item| item.key.is_none()) {
                self.expr(&spread.value);
                self.site(SiteKind::Spread { mapping: true }, lines, spread.value.range());
            }
        }
    }

    /// What stands before the first `*` is put into the set at once, what stands behind it one by one.
    fn set(&mut self, elements: &'a [Expr], lines: LinesByVersion) {
        let first_star = elements.iter().position(Expr::is_starred_expr);
        let (together, apart) = elements.split_at(first_star.unwrap_or(elements.len()));
        self.exprs(together);
        self.hashed(together, lines);
        for element in apart {
            self.elements(std::slice::from_ref(element), lines);
            self.hashed(Some(element).filter(|it| !it.is_starred_expr()), lines);
        }
    }

    /// Hashes those of `elements` that are not constants, one after the other.
    fn hashed(&mut self, elements: impl IntoIterator<Item = &'a Expr>, lines: LinesByVersion) {
        for element in elements.into_iter().filter(|it| may_leave_hash(it)) {
            self.site(SiteKind::Hash, lines, element.range());
        }
    }

    fn elements(&mut self, elements: &'a [Expr], lines: LinesByVersion) {
        for element in elements {
            self.expr(element);
            if let Expr::Starred(it) = element {
                self.spread(it, lines);
            }
        }
    }

    fn spread(&mut self, it: &'a ExprStarred, lines: LinesByVersion) {
        self.site(SiteKind::Spread { mapping: false }, lines, it.range());
        self.take_from(1, &it.value);
    }

    fn call(&mut self, it: &'a ExprCall, line: u32) {
        let (args, keywords) = (&it.arguments.args, &it.arguments.keywords);
        let spreads = args.iter().any(Expr::is_starred_expr)
            || keywords.iter().any(|keyword| keyword.arg.is_none());
        let mut lines = LinesByVersion::same(line);
        if let Expr::Attribute(method) = &*it.func {
            self.expr(&method.value);
            let name = self.line_of(&method.attr);
            if keywords.is_empty() && !spreads {
                lines = LinesByVersion::until(9, line, name);
                self.attribute_on(method, Access::Load, true, lines);
            } else {
                self.attribute(method, Access::Load, true);
                lines = if spreads { lines } else { LinesByVersion::until(10, line, name) };
            }
        } else {
            self.expr(&it.func);
        }
        // Functions of `math` take numbers.
        if it.func.as_attribute_expr().is_some_and(|it| self.is_of_math(it)) {
            args.iter().for_each(|it| self.expect_plain(it));
        }
        self.arguments(&it.arguments, line);
        let passes = self.passed(&it.arguments);
        let kind = SiteKind::Call {
            callee: self.callee(&it.func),
            positional: args.len() as u32,
            keywords: keywords.len() as u32,
            arguments: CallArguments::of(&it.arguments, |name| self.passed_parameter(name)),
            passes,
        };
        self.site(kind, lines, it.range());
    }

    /// The lambdas and generator expressions among arguments, and among those of iterators there (`map`, `chain`), which run them when
    /// their elements are taken.
    fn passed(&self, arguments: &Arguments) -> Vec<usize> {
        let mut passed = Vec::new();
        let mut next = vec![arguments];
        while let Some(arguments) = next.pop() {
            let keywords = arguments.keywords.iter().map(|keyword| &keyword.value);
            for value in arguments.args.iter().chain(keywords) {
                match value {
                    Expr::Lambda(it) => passed.extend(self.scopes.number(it)),
                    Expr::Generator(it) => passed.extend(self.scopes.number(it)),
                    Expr::Call(it) if is_iterator(&it.func) => next.push(&it.arguments),
                    _ => {}
                }
            }
        }
        passed
    }

    /// Arguments of a call or class, from left to right; a lone `*` argument is unpacked by the call itself.
    pub(super) fn arguments(&mut self, arguments: &'a Arguments, line: u32) {
        let lines = LinesByVersion::same(line);
        let lone = match &*arguments.args {
            [Expr::Starred(it)] => Some(it),
            _ => None,
        };
        for arg in &arguments.args {
            self.expr(arg);
            if let (Expr::Starred(it), None) = (arg, lone) {
                self.spread(it, lines);
            }
        }
        for keyword in &arguments.keywords {
            self.expr(&keyword.value);
            if keyword.arg.is_none() {
                self.site(SiteKind::Spread { mapping: true }, lines, keyword.range);
            }
        }
        if let Some(it) = lone {
            self.spread(it, lines);
        }
    }

    /// What stands in the brackets of a subscript, and before them.
    fn index(&mut self, it: &ExprSubscript) -> Index {
        let mut index = shape_of_index(it);
        if let Expr::Name(name) = &*it.value
            && let Binding::Variable { values, .. } = self.binding(&name.id)
        {
            index.is_of_plain |= match self.known(&name.id) {
                Some(held) => held != NameValue::Tensor,
                None => !values.is_empty() && values.iter().all(|it| *it == AssignedValue::Plain),
            };
        }
        index.is_of_arrays = parts_of(it).iter().any(|it| is_list(it) || self.is_of_numpy(it));
        index.is_of_plain |= self.is_key(&it.slice, &it.value) || self.is_of_numpy(&it.value);
        if index.indices > 0 && it.slice.as_tuple_expr().is_none() {
            index.is_number = self.is_plain(&it.slice) && !index.is_of_arrays;
            index.is_tensor = self.is_tensor(&it.slice) && !self.may_be_element(&it.slice);
        }
        index
    }

    /// Whether an expression may be one element of a tensor: as an index it then says which part is selected, as a number does.
    fn may_be_element(&mut self, expr: &Expr) -> bool {
        expr.as_subscript_expr().is_some_and(|it| {
            let index = shape_of_index(it);
            index.slices + index.new_axes == 0 && !self.is_tensor(&it.slice)
        })
    }

    /// An attribute of what has been evaluated; `is_called` if it is what a call calls.
    pub(super) fn attribute(&mut self, it: &'a ExprAttribute, access: Access, is_called: bool) {
        let lines = LinesByVersion::until(9, self.line_of(it), self.line_of(&it.attr));
        self.attribute_on(it, access, is_called, lines);
    }

    fn attribute_on(
        &mut self,
        it: &'a ExprAttribute,
        access: Access,
        is_called: bool,
        lines: LinesByVersion,
    ) {
        let owner = last_name(&it.value).map(str::to_owned);
        let is_of_import = it.value.as_name_expr().is_some_and(|it| self.is_imported(&it.id));
        let kind = SiteKind::Attribute {
            name: it.attr.to_string(),
            access,
            owner,
            is_of_import,
            is_of_self: begins_with_self(&it.value),
            is_called,
        };
        self.site(kind, lines, it.range);
    }

    /// A subscript of what has been evaluated.
    pub(super) fn subscript(&mut self, it: &'a ExprSubscript, access: Access) {
        let index = self.index(it);
        let lines = LinesByVersion::same(self.line_of(it));
        let has_parts = index.has_dimensions || 1 < index.indices;
        let n_operators = if has_parts { index.n_operators() } else { 0 };
        let dimensions = |this: &mut Self, n| {
            for _ in 0..n {
                this.site(SiteKind::Dimension { index }, lines, it.range);
            }
        };
        // What is written is written last; what is read is read by the method of a class first, if it has one.
        let n_before = if access == Access::Store { n_operators } else { 0 };
        dimensions(self, n_before);
        self.site(SiteKind::Subscript { access, index }, lines, it.range);
        self.take_from(1, &it.value);
        if access == Access::Load {
            dimensions(self, n_operators.saturating_sub(1));
        }
    }

    /// Awaits what has been evaluated: once, and again each time that the frame is resumed.
    pub(super) fn awaited(&mut self, lines: LinesByVersion, range: TextRange) {
        let node = self.site(SiteKind::Await, lines, range);
        self.go_to(node);
    }

    /// The values in an f-string that begins on `line`, or in a t-string, which does not format them (`formats`).
    fn formatted(
        &mut self,
        elements: impl Iterator<Item = &'a InterpolatedStringElement>,
        line: u32,
        formats: bool,
    ) {
        for element in elements {
            let InterpolatedStringElement::Interpolation(it) = element else { continue };
            self.expr(&it.expression);
            if let Some(spec) = &it.format_spec {
                guarded(|| self.spec(&spec.elements, line));
            }
            if formats {
                let lines = LinesByVersion::until(11, line, self.line_of(it));
                self.site(SiteKind::Format, lines, it.range);
            }
        }
    }

    /// The values that a format is made of.
    fn spec(&mut self, elements: &'a [InterpolatedStringElement], line: u32) {
        self.formatted(elements.iter(), line, true);
    }

    /// A comprehension or generator expression where it stands.
    fn comprehension(&mut self, function: Option<usize>) {
        let code = function.and_then(|function| Some((function, self.scopes.codes.get(function)?)));
        let Some((function, &ScopeCode::Comprehension(loops))) = code else { return };
        let Some(first) = loops.generators.first() else { return };
        self.expr(&first.iter);
        let line = self.line(loops.range.start());
        let lines = LinesByVersion::until(12, line, self.line_of(&first.iter));
        self.site(SiteKind::Iterate(Iteration::Start), lines, first.iter.range());
        self.take_from(1, &first.iter);
        let start = self.at;
        if loops.is_generator() {
            self.site(SiteKind::Generator { function }, LinesByVersion::same(line), loops.range);
            return;
        }
        self.site(SiteKind::Comprehension { function }, LinesByVersion::same(line), loops.range);
        if self.n_inlined < MAX_INLINED {
            let called = std::mem::replace(&mut self.at, start);
            let outer = self.inlined.replace(function);
            self.n_inlined += 1;
            self.steps(&loops);
            self.n_inlined -= 1;
            self.inlined = outer;
            self.at = self.merge(called, self.at);
        }
    }

    /// The code of a comprehension: the first iterator is given.
    pub(super) fn steps(&mut self, loops: &Loops<'a>) {
        let bracket = self.line(loops.range.start());
        (self.here, self.here_310) = (NO_LINE, bracket);
        // Where the outermost loop is left, and where the innermost of those so far takes its next step.
        let mut end = None;
        let mut step = None;
        for generator in loops.generators {
            let iterable = self.line_of(&generator.iter);
            let range = generator.iter.range();
            let mut lines = LinesByVersion::until(12, bracket, iterable);
            if step.is_some() {
                self.expr(&generator.iter);
                lines = lines.with(0..=9, iterable);
                self.site(SiteKind::Iterate(Iteration::Start), lines, range);
                self.take_from(1, &generator.iter);
            }
            let next = self.site(SiteKind::Iterate(Iteration::Next), lines, range);
            self.take_from(1, &generator.iter);
            if generator.is_async {
                self.awaited(lines, range);
            }
            match step {
                None => end = self.at,
                Some(outer) => self.go_to(outer),
            }
            step = Some(next);
            self.element_target(&generator.target, &generator.iter);
            for test in &generator.ifs {
                let holds = self.join();
                self.condition(test, holds, next);
                self.at = Some(holds);
            }
        }
        self.exprs(loops.elements.into_iter().flatten());
        if let [Some(element), value] = loops.elements
            && loops.hashes()
        {
            // Up to Python 3.9 it gets the line of what was evaluated last.
            let last = self.line_of(value.unwrap_or(element));
            let lines = LinesByVersion::same(self.line_of(element));
            self.hashed([element], lines.with(0..=9, last).with(10..=11, self.here_310));
        }
        if let Some(element) = loops.elements[0].filter(|_| loops.is_generator()) {
            let lines = LinesByVersion::same(self.line_of(element));
            self.site(SiteKind::Yield, lines, element.range());
        }
        if let Some(next) = step {
            self.go_to(next);
        }
        self.at = end;
    }
}

impl FlowBuilder<'_, '_> {
    /// What a call names.
    fn callee(&self, func: &Expr) -> Callee {
        let mut path = Vec::new();
        let mut binding = Binding::None;
        let mut rest = func;
        let is_super = matches!(func, Expr::Attribute(it) if is_super_call(&it.value));
        loop {
            rest = match rest {
                _ if path.len() == MAX_PATH => {
                    path.push("?".to_owned());
                    break;
                }
                Expr::Attribute(it) => {
                    path.push(it.attr.to_string());
                    &it.value
                }
                Expr::Call(it) => {
                    path.push("()".to_owned());
                    &it.func
                }
                Expr::Subscript(it) => {
                    path.push("[]".to_owned());
                    &it.value
                }
                Expr::Name(it) => {
                    path.push(it.id.to_string());
                    binding = self.binding(&it.id);
                    break;
                }
                Expr::StringLiteral(_) | Expr::FString(_) | Expr::BytesLiteral(_) => {
                    path.push("''".to_owned());
                    break;
                }
                _ => {
                    path.push("?".to_owned());
                    break;
                }
            }
        }
        path.reverse();
        Callee { path, is_super, is_method: func.is_attribute_expr(), binding }
    }
}

/// Whether an expression begins with the name `self`. Longer ones than [`MAX_PATH`] parts are not looked through.
fn begins_with_self(expr: &Expr) -> bool {
    let mut rest = expr;
    for _ in 0..MAX_PATH {
        rest = match rest {
            Expr::Attribute(it) => &it.value,
            Expr::Call(it) => &it.func,
            Expr::Subscript(it) => &it.value,
            _ => break,
        };
    }
    is_self(rest)
}

/// One comparison.
fn compared(op: CompareOp, left: &Expr, right: &Expr) -> SiteKind {
    let left_is_literal = is_literal(left);
    let is_membership = matches!(op, CompareOp::In | CompareOp::NotIn);
    // Numbers and strings are hashed without a trace; lists and tuples compare.
    let is_sequence = matches!(right, Expr::List(_) | Expr::Tuple(_) | Expr::ListComp(_));
    let may_hash = is_membership && !left_is_literal && !is_sequence;
    SiteKind::Compare { op, left_is_literal, may_hash }
}

/// Whether an expression is a list or a tuple, as far as the text shows.
fn is_list(expr: &Expr) -> bool {
    match expr {
        Expr::List(_) | Expr::ListComp(_) | Expr::Tuple(_) => true,
        Expr::Call(it) => {
            it.func.as_name_expr().is_some_and(|it| matches!(&*it.id, "list" | "tuple" | "sorted"))
        }
        _ => false,
    }
}

/// Whether lists or tuples are put together or repeated, as far as the text shows: tensors take none.
fn is_of_list(it: &ExprBinOp) -> bool {
    let mut it = it;
    loop {
        if !matches!(it.op, Operator::Add | Operator::Mult) {
            return false;
        }
        if is_list(&it.left) || is_list(&it.right) {
            return true;
        }
        let Expr::BinOp(left) = &*it.left else { return false };
        it = left;
    }
}

/// The parts in the brackets of a subscript.
fn parts_of(it: &ExprSubscript) -> &[Expr] {
    match &*it.slice {
        Expr::Tuple(it) => &it.elts,
        slice => std::slice::from_ref(slice),
    }
}

/// What stands in the brackets of a subscript, and before them, but for what the indices are.
fn shape_of_index(it: &ExprSubscript) -> Index {
    let is_of_plain = match &*it.value {
        Expr::Name(it) => is_plain_sequence(it.id.as_str()),
        Expr::Attribute(it) => it.attr.as_str() == "shape" || is_plain_sequence(it.attr.as_str()),
        Expr::Call(call) => {
            let method = call.func.as_attribute_expr().map(|it| it.attr.as_str());
            call.arguments.is_empty() && matches!(method, Some("size" | "stride"))
        }
        _ => false,
    };
    let mut index = Index { is_of_plain, is_literal: is_literal(&it.slice), ..Index::default() };
    let parts = parts_of(it);
    let is_dimension =
        |it: &Expr| matches!(it, Expr::EllipsisLiteral(_) | Expr::NoneLiteral(_) | Expr::Slice(_));
    index.has_dimensions = parts.len() > 1 && parts.iter().any(is_dimension);
    for part in parts {
        match part {
            Expr::EllipsisLiteral(_) => {}
            Expr::NoneLiteral(_) => index.new_axes += 1,
            Expr::Slice(it) => {
                let is_whole = it.lower.is_none() && it.upper.is_none() && it.step.is_none();
                index.slices += u32::from(!is_whole);
            }
            _ => index.indices += 1,
        }
    }
    index
}

/// Whether what is called so is a sequence or mapping of Python, not a tensor.
fn is_plain_sequence(name: &str) -> bool {
    name.ends_with("args") || name == "__dict__"
}

/// Whether an expression is a number or a string.
pub(super) fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::UnaryOp(it) if it.op == ruff_python_ast::UnaryOp::USub => {
            it.operand.is_number_literal_expr()
        }
        _ => {
            expr.is_number_literal_expr()
                || expr.is_string_literal_expr()
                || expr.is_bytes_literal_expr()
        }
    }
}

/// Whether a method of Python may run where an expression is hashed: not that of a number or string, or of several of them.
fn may_leave_hash(expr: &Expr) -> bool {
    match expr {
        Expr::Tuple(it) => guarded(|| it.elts.iter().any(may_leave_hash)),
        _ => !is_literal(expr) && !expr.is_literal_expr() && !expr.is_f_string_expr(),
    }
}

/// Whether an expression is a constant by its name, as the members of enums are: `Kind.CONCAT`.
fn is_named_constant(expr: &Expr) -> bool {
    let is_constant = |it: &str| {
        it.chars().filter(char::is_ascii_uppercase).count() > 1
            && !it.contains(|it: char| it.is_ascii_lowercase())
    };
    matches!(expr, Expr::Attribute(it) if is_constant(&it.attr) && !is_self(&it.value))
}

/// Whether what is called makes an iterator over its arguments.
fn is_iterator(called: &Expr) -> bool {
    match called {
        Expr::Name(it) => takes_later(&it.id),
        Expr::Attribute(it) => is_of_itertools(&it.attr),
        _ => false,
    }
}

fn is_super_call(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(it) if matches!(&*it.func, Expr::Name(name) if name.id == "super"))
}

fn constant_truth(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::BooleanLiteral(it) => Some(it.value),
        Expr::NoneLiteral(_) => Some(false),
        Expr::EllipsisLiteral(_) => Some(true),
        Expr::StringLiteral(it) => Some(!it.value.is_empty()),
        Expr::BytesLiteral(it) => Some(!it.value.is_empty()),
        Expr::NumberLiteral(it) => match &it.value {
            ruff_python_ast::Number::Int(value) => Some(*value != 0),
            ruff_python_ast::Number::Float(value) => Some(*value != 0.0),
            ruff_python_ast::Number::Complex { real, imag } => Some(*real != 0.0 || *imag != 0.0),
        },
        Expr::Name(it) if it.id == "__debug__" => Some(true),
        _ => None,
    }
}

/// Whether the value is a `bool` for sure, the test of which leaves nothing.
fn is_bool(expr: &Expr) -> bool {
    match expr {
        Expr::Compare(it) => it
            .ops
            .iter()
            .all(|op| matches!(op, CmpOp::Is | CmpOp::IsNot | CmpOp::In | CmpOp::NotIn)),
        Expr::UnaryOp(it) => it.op == ruff_python_ast::UnaryOp::Not,
        Expr::Call(it) => match &*it.func {
            Expr::Name(it) => is_predicate(&it.id),
            Expr::Attribute(it) => is_predicate(&it.attr),
            _ => false,
        },
        _ => false,
    }
}

/// Whether what is called so gives a `bool`, by convention or because it is a built-in.
fn is_predicate(name: &str) -> bool {
    name.starts_with("is_")
        || name.starts_with("has_")
        || matches!(
            name,
            "isinstance"
                | "issubclass"
                | "hasattr"
                | "callable"
                | "bool"
                | "startswith"
                | "endswith"
        )
}

fn comparison(op: CmpOp) -> Option<CompareOp> {
    Some(match op {
        CmpOp::Eq => CompareOp::Eq,
        CmpOp::NotEq => CompareOp::NotEq,
        CmpOp::Lt => CompareOp::Lt,
        CmpOp::LtE => CompareOp::LtE,
        CmpOp::Gt => CompareOp::Gt,
        CmpOp::GtE => CompareOp::GtE,
        CmpOp::In => CompareOp::In,
        CmpOp::NotIn => CompareOp::NotIn,
        CmpOp::Is | CmpOp::IsNot => return None,
    })
}

fn unary(op: ruff_python_ast::UnaryOp, operand: &Expr) -> Option<SiteKind> {
    match op {
        ruff_python_ast::UnaryOp::Invert => Some(SiteKind::Unary(UnaryOp::Invert)),
        ruff_python_ast::UnaryOp::UAdd => Some(SiteKind::Unary(UnaryOp::Plus)),
        ruff_python_ast::UnaryOp::USub => Some(SiteKind::Unary(UnaryOp::Minus)),
        ruff_python_ast::UnaryOp::Not => (!is_bool(operand)).then_some(SiteKind::TruthTest),
    }
}

pub(super) fn binary(op: Operator) -> BinaryOp {
    match op {
        Operator::Add => BinaryOp::Add,
        Operator::Sub => BinaryOp::Sub,
        Operator::Mult => BinaryOp::Mul,
        Operator::MatMult => BinaryOp::MatMul,
        Operator::Div => BinaryOp::Div,
        Operator::Mod => BinaryOp::Mod,
        Operator::Pow => BinaryOp::Pow,
        Operator::LShift => BinaryOp::LShift,
        Operator::RShift => BinaryOp::RShift,
        Operator::BitOr => BinaryOp::Or,
        Operator::BitXor => BinaryOp::Xor,
        Operator::BitAnd => BinaryOp::And,
        Operator::FloorDiv => BinaryOp::FloorDiv,
    }
}
