//! Statements and patterns.

use ruff_python_ast::{
    Decorator, ExceptHandler, ExceptHandlerExceptHandler, Expr, Parameters, Pattern, Stmt,
    StmtAnnAssign, StmtAugAssign, StmtClassDef, StmtFor, StmtFunctionDef, StmtIf, StmtMatch,
    StmtTry, StmtWhile, StmtWith, WithItem,
};
use ruff_text_size::{Ranged, TextRange};

use super::builder::{FlowBuilder, Jump};
use super::known_names::{NameChanges, NameValue};
use super::lines::LinesByVersion;
use super::{Access, Binding, CompareOp, ImportForm, Index, Iteration, SiteKind, expressions};
use crate::collect::is_tensor_type;
use crate::stack_guard::guarded;
use crate::values::is_sizes;

impl<'a> FlowBuilder<'_, 'a> {
    pub(super) fn body(&mut self, body: &'a [Stmt]) {
        body.iter().for_each(|stmt| guarded(|| self.stmt(stmt)));
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        let line = match stmt {
            Stmt::FunctionDef(it) => self.line_of(&it.name),
            Stmt::ClassDef(it) => self.line_of(&it.name),
            _ => self.line_of(stmt),
        };
        (self.here, self.here_310) = (line, line);
        match stmt {
            Stmt::FunctionDef(it) => self.function(it, line),
            Stmt::ClassDef(it) => self.class(it, line),
            Stmt::Return(it) => {
                self.exprs(it.value.as_deref());
                self.close_iterators(Jump::Return, line);
                self.jump(Jump::Return);
            }
            Stmt::Delete(it) => {
                it.targets.iter().for_each(|it| self.target(it, Access::Delete));
                self.forget_bound_in(it.range);
            }
            Stmt::Assign(it) => {
                self.expect_as_used(it);
                self.expr(&it.value);
                if is_in_no_tensor(&it.value) {
                    let subscripts = it.targets.iter().filter_map(|it| it.as_subscript_expr());
                    subscripts.for_each(|it| self.note_key(&it.slice, &it.value));
                }
                // `a, b = b, a` unpacks what is known to be a tuple.
                let is_display = it.value.is_tuple_expr() || it.value.is_list_expr();
                it.targets.iter().for_each(|target| match target {
                    Expr::Tuple(it) if is_display => self.each_target(&it.elts, Access::Store),
                    Expr::List(it) if is_display => self.each_target(&it.elts, Access::Store),
                    Expr::Tuple(names) => {
                        self.unpack(names.elts.len(), names.range);
                        self.take_from(1, &it.value);
                        self.each_target(&names.elts, Access::Store);
                    }
                    _ => self.target(target, Access::Store),
                });
                it.targets.iter().for_each(|target| self.hold_value(target, &it.value));
            }
            Stmt::AugAssign(it) => self.augmented(it, line),
            Stmt::AnnAssign(it) => self.annotated(it),
            Stmt::For(it) => self.for_loop(it, line),
            Stmt::While(it) => self.while_loop(it),
            Stmt::If(it) => self.if_chain(it),
            Stmt::With(it) => self.with_items(it, &it.items, line),
            Stmt::Match(it) => self.match_cases(it),
            Stmt::Raise(it) => {
                self.exprs(it.exc.as_deref());
                self.exprs(it.cause.as_deref());
                self.site(SiteKind::Raise, LinesByVersion::same(line), it.range);
                self.at = None;
            }
            Stmt::Try(it) => self.try_block(it),
            Stmt::Assert(it) => {
                let (holds, fails) = (self.join(), self.join());
                self.condition(&it.test, holds, fails);
                self.at = Some(fails);
                self.exprs(it.msg.as_deref());
                self.site(SiteKind::Raise, LinesByVersion::same(line), it.range);
                self.at = Some(holds);
            }
            Stmt::Import(it) => {
                let kind = SiteKind::Import(ImportForm::Module);
                self.site(kind, LinesByVersion::same(line), it.range);
                self.forget_bound_in(it.range);
            }
            Stmt::ImportFrom(it) => {
                let form = match it.level {
                    0 => ImportForm::Names,
                    _ => ImportForm::RelativeNames,
                };
                self.site(SiteKind::Import(form), LinesByVersion::same(line), it.range);
                self.forget_bound_in(it.range);
            }
            Stmt::Expr(it) => self.expr(&it.value),
            Stmt::Break(_) => {
                self.close_iterators(Jump::Break, line);
                self.jump(Jump::Break);
            }
            Stmt::Continue(_) => self.jump(Jump::Continue),
            // The value of a type alias is evaluated when somebody asks for it.
            Stmt::TypeAlias(_)
            | Stmt::Global(_)
            | Stmt::Nonlocal(_)
            | Stmt::Pass(_)
            | Stmt::IpyEscapeCommand(_) => {}
        }
    }

    fn function(&mut self, def: &'a StmtFunctionDef, line: u32) {
        def.decorator_list.iter().for_each(|it| self.expr(&it.expression));
        self.defaults(&def.parameters);
        if !self.scopes.lazy_annotations {
            let annotations = def.parameters.iter().filter_map(|it| it.annotation());
            annotations.chain(def.returns.as_deref()).for_each(|it| self.expr(it));
        }
        if let Some(function) = self.scopes.number(def) {
            self.decorate(&def.decorator_list, function, line);
        }
        self.known.set(&def.name, None);
    }

    fn class(&mut self, class: &'a StmtClassDef, line: u32) {
        class.decorator_list.iter().for_each(|it| self.expr(&it.expression));
        if let Some(arguments) = &class.arguments {
            self.arguments(arguments, line);
        }
        if let Some(function) = self.scopes.number(class) {
            let head = TextRange::new(class.name.start(), class.name.end());
            self.site(SiteKind::ClassDef { function }, LinesByVersion::same(line), head);
            self.decorate(&class.decorator_list, function, line);
        }
        self.known.set(&class.name, None);
    }

    fn decorate(&mut self, decorators: &[Decorator], function: usize, line: u32) {
        for decorator in decorators.iter().rev() {
            let lines = LinesByVersion::until(10, line, self.line_of(&decorator.expression));
            self.site(SiteKind::Decorate { function }, lines, decorator.range);
        }
    }

    /// The defaults of parameters, which are evaluated with the definition.
    pub(super) fn defaults(&mut self, parameters: &'a Parameters) {
        let positional = parameters.posonlyargs.iter().chain(&parameters.args);
        positional.chain(&parameters.kwonlyargs).for_each(|it| self.exprs(it.default()));
    }

    fn augmented(&mut self, it: &'a StmtAugAssign, line: u32) {
        match &*it.target {
            Expr::Attribute(target) => {
                self.expr(&target.value);
                self.attribute(target, Access::Load, false);
            }
            Expr::Subscript(target) => {
                self.expr(&target.value);
                self.expr(&target.slice);
                self.subscript(target, Access::Load);
            }
            _ => {}
        }
        self.expr(&it.value);
        let op = expressions::binary(it.op);
        self.site(SiteKind::Operator { op, in_place: true }, LinesByVersion::same(line), it.range);
        self.works_on([&*it.target, &*it.value]);
        let held = match (self.held(&it.target), self.held(&it.value)) {
            (Some(NameValue::Tensor), _) | (_, Some(NameValue::Tensor)) => Some(NameValue::Tensor),
            (Some(NameValue::Plain), Some(NameValue::Plain)) => Some(NameValue::Plain),
            (Some(_), Some(_)) => Some(NameValue::OfNumpy),
            _ => None,
        };
        self.hold(&it.target, held);
        match &*it.target {
            Expr::Attribute(target) => self.attribute(target, Access::Store, false),
            Expr::Subscript(target) => self.subscript(target, Access::Store),
            _ => {}
        }
    }

    fn annotated(&mut self, it: &'a StmtAnnAssign) {
        if let Some(value) = &it.value {
            self.expr(value);
            self.target(&it.target, Access::Store);
            match is_tensor_type(&it.annotation) {
                true => self.hold(&it.target, Some(NameValue::Tensor)),
                false => self.hold_value(&it.target, value),
            }
        } else if let Expr::Attribute(target) = &*it.target {
            self.expr(&target.value);
        } else if let Expr::Subscript(target) = &*it.target {
            self.expr(&target.value);
            self.expr(&target.slice);
        }
        if self.keeps_annotations && !self.scopes.lazy_annotations {
            self.expr(&it.annotation);
        }
    }

    /// Notes what a target holds that is assigned `value`.
    fn hold_value(&mut self, target: &'a Expr, value: &'a Expr) {
        let (names, values) = match (target, value) {
            (Expr::Tuple(names), Expr::Tuple(values)) => (&names.elts, &values.elts),
            // What is unpacked: the sizes of a tensor, or tensors, if it is one.
            (Expr::Tuple(_) | Expr::List(_), _) => {
                let held = match is_sizes(value) {
                    true => Some(NameValue::Plain),
                    false => self.is_tensor(value).then_some(NameValue::Tensor),
                };
                return self.hold(target, held);
            }
            _ => {
                let held = self.held(value);
                return self.hold(target, held);
            }
        };
        let is_one_by_one = names.len() == values.len() && !names.iter().any(Expr::is_starred_expr);
        let held = values.iter().map(|it| self.held(it).filter(|_| is_one_by_one));
        let held: Vec<_> = held.collect();
        for (row, name) in names.iter().enumerate() {
            self.hold(name, held.get(row).copied().flatten());
        }
    }

    /// Notes what the variables of a loop hold.
    fn hold_elements(&mut self, target: &'a Expr, iterable: &'a Expr) {
        let called = iterable.as_call_expr().and_then(|it| it.func.as_name_expr());
        match (called.map(|it| it.id.as_str()), target) {
            (Some("range"), _) => self.hold(target, Some(NameValue::Plain)),
            (Some("enumerate"), Expr::Tuple(it)) => {
                self.hold(target, None);
                it.elts.first().into_iter().for_each(|it| self.hold(it, Some(NameValue::Plain)));
            }
            _ => {
                let is_tensor = self.is_tensor(iterable);
                self.hold(target, is_tensor.then_some(NameValue::Tensor));
            }
        }
    }

    /// Assigns to a target, or deletes it.
    pub(super) fn target(&mut self, target: &'a Expr, access: Access) {
        guarded(|| match target {
            Expr::Attribute(it) => {
                self.expr(&it.value);
                self.attribute(it, access, false);
            }
            Expr::Subscript(it) => {
                self.expr(&it.value);
                self.expr(&it.slice);
                self.subscript(it, access);
            }
            Expr::Tuple(it) => self.targets(&it.elts, it.range, access),
            Expr::List(it) => self.targets(&it.elts, it.range, access),
            Expr::Starred(it) => self.target(&it.value, access),
            _ => {}
        });
    }

    /// Assigns an element of `iterable` to a target. The tuples of `zip` and the like are unpacked without a trace.
    pub(super) fn element_target(&mut self, target: &'a Expr, iterable: &Expr) {
        match target.as_tuple_expr().filter(|_| self.gives_tuples(iterable)) {
            Some(it) => self.each_target(&it.elts, Access::Store),
            None => self.target(target, Access::Store),
        }
    }

    fn gives_tuples(&self, iterable: &Expr) -> bool {
        let Expr::Call(call) = iterable else { return false };
        match &*call.func {
            Expr::Name(it) => {
                matches!(&*it.id, "zip" | "enumerate") && self.binding(&it.id) == Binding::Builtin
            }
            Expr::Attribute(it) => it.attr.as_str() == "items" && call.arguments.is_empty(),
            _ => false,
        }
    }

    fn targets(&mut self, targets: &'a [Expr], range: TextRange, access: Access) {
        if access == Access::Store {
            self.unpack(targets.len(), range);
        }
        self.each_target(targets, access);
    }

    fn unpack(&mut self, n: usize, range: TextRange) {
        let kind = SiteKind::Unpack { n: n as u32 };
        self.site(kind, LinesByVersion::same(self.line(range.start())), range);
    }

    fn each_target(&mut self, targets: &'a [Expr], access: Access) {
        targets.iter().for_each(|it| self.target(it, access));
    }

    fn for_loop(&mut self, it: &'a StmtFor, line: u32) {
        self.expr(&it.iter);
        let lines = LinesByVersion::until(12, line, self.line_of(&*it.iter));
        self.site(SiteKind::Iterate(Iteration::Start), lines, it.iter.range());
        let next = self.site(SiteKind::Iterate(Iteration::Next), lines, it.iter.range());
        self.take_from(2, &it.iter);
        if it.is_async {
            self.awaited(lines, it.iter.range());
        }
        let (step, end) = (self.at, self.join());
        self.open_loop(end, next, Some(&it.iter));
        self.forget_bound_in(it.range);
        let mark = self.known.mark();
        self.element_target(&it.target, &it.iter);
        self.hold_elements(&it.target, &it.iter);
        self.body(&it.body);
        self.known.take_back(mark);
        self.go_to(next);
        self.close_loop();
        self.at = step;
        self.body(&it.orelse);
        self.go_to(end);
        self.at = Some(end);
    }

    fn while_loop(&mut self, it: &'a StmtWhile) {
        let (top, step, orelse, end) = (self.join(), self.join(), self.join(), self.join());
        self.go_to(top);
        self.at = Some(top);
        self.forget_bound_in(it.range);
        let is_while = std::mem::replace(&mut self.is_while, true);
        self.condition(&it.test, step, orelse);
        self.is_while = is_while;
        self.open_loop(end, top, None);
        self.at = Some(step);
        let mark = self.known.mark();
        self.known.narrow(&it.test, true);
        self.body(&it.body);
        self.known.take_back(mark);
        self.go_to(top);
        self.close_loop();
        self.at = Some(orelse);
        self.body(&it.orelse);
        self.go_to(end);
        self.at = Some(end);
    }

    fn if_chain(&mut self, it: &'a StmtIf) {
        let end = self.join();
        let mark = self.known.mark();
        let mut ways = Vec::new();
        let mut otherwise = self.branch(&it.test, &it.body, end, &mut ways);
        let mut is_open = true;
        for clause in &it.elif_else_clauses {
            self.at = Some(otherwise);
            let line = self.line_of(clause);
            (self.here, self.here_310) = (line, line);
            if let Some(test) = &clause.test {
                otherwise = self.branch(test, &clause.body, end, &mut ways);
            } else {
                self.body(&clause.body);
                is_open = self.at.is_some();
                otherwise = self.join();
                self.go_to(end);
            }
        }
        let last = self.known.take_back(mark);
        ways.extend(is_open.then_some(last));
        self.known.meet(ways);
        self.link(Some(otherwise), end);
        self.at = Some(end);
    }

    /// Runs `body` if the test holds, and goes to `end`, if it gets there: `ways` has what is known of those that do. Where it goes on
    /// if the test does not hold is returned.
    fn branch(
        &mut self,
        test: &'a Expr,
        body: &'a [Stmt],
        end: u32,
        ways: &mut Vec<NameChanges<'a>>,
    ) -> u32 {
        let (then, otherwise) = (self.join(), self.join());
        self.condition(test, then, otherwise);
        self.at = Some(then);
        let mark = self.known.mark();
        self.known.narrow(test, true);
        self.body(body);
        let way = self.known.take_back(mark);
        ways.extend(self.at.is_some().then_some(way));
        self.known.narrow(test, false);
        self.go_to(end);
        otherwise
    }

    fn with_items(&mut self, with: &'a StmtWith, items: &'a [WithItem], line: u32) {
        let Some((item, others)) = items.split_first() else { return self.body(&with.body) };
        (self.here, self.here_310) = (line, line);
        self.expr(&item.context_expr);
        let lines = LinesByVersion::until(12, line, self.line_of(&item.context_expr));
        let range = item.context_expr.range();
        self.site(SiteKind::Enter, lines, range);
        if with.is_async {
            self.awaited(lines, range);
        }
        let open = self.open_finally();
        if let Some(target) = &item.optional_vars {
            self.target(target, Access::Store);
            self.hold(target, None);
        }
        guarded(|| self.with_items(with, others, line));
        let last = with.body.last().map_or(line, |stmt| self.line_of(stmt));
        self.close_finally(open, true, |this| {
            let lines = lines.with(0..=9, last);
            this.site(SiteKind::Exit, lines, range);
            if with.is_async {
                this.awaited(lines, range);
            }
        });
    }

    fn try_block(&mut self, it: &'a StmtTry) {
        self.try_here(it);
        self.forget_bound_in(it.range);
    }

    fn try_here(&mut self, it: &'a StmtTry) {
        let mark = self.known.mark();
        let open = (!it.finalbody.is_empty()).then(|| self.open_finally());
        if it.handlers.is_empty() {
            self.body(&it.body);
            self.body(&it.orelse);
            self.forget_all(mark, it.range);
        } else {
            self.catches = true;
            let (handlers, end) = (self.join(), self.join());
            let caught = it.handlers.iter().flat_map(caught_by).collect();
            let caught = std::mem::replace(&mut self.caught, caught);
            let outer = std::mem::replace(&mut self.on_exception, handlers);
            self.body(&it.body);
            (self.on_exception, self.caught) = (outer, caught);
            self.body(&it.orelse);
            self.forget_all(mark, it.range);
            let goes_on = self.at.is_some();
            self.go_to(end);
            self.at = Some(handlers);
            let goes_on = self.handlers(it, end) || goes_on;
            self.at = Some(end).filter(|_| goes_on);
        }
        if let Some(open) = open {
            self.close_finally(open, false, |this| this.body(&it.finalbody));
        }
    }

    /// Takes back what was learned since `mark`, where it is open how far the way got.
    fn forget_all(&mut self, mark: usize, range: TextRange) {
        self.known.take_back(mark);
        self.forget_bound_in(range);
    }

    /// Whether it goes on at `end` behind one of the handlers.
    fn handlers(&mut self, it: &'a StmtTry, end: u32) -> bool {
        let mut goes_on = false;
        for (row, ExceptHandler::ExceptHandler(handler)) in it.handlers.iter().enumerate() {
            if row > 0 && catches_all(handler) {
                self.go_on_unexpectedly();
            }
            let line = self.line_of(handler);
            (self.here, self.here_310) = (line, line);
            self.exprs(handler.type_.as_deref());
            let tested = self.at;
            let mark = self.known.mark();
            self.body(&handler.body);
            self.forget_all(mark, handler.range);
            goes_on |= self.at.is_some();
            self.go_to(end);
            let handled = self.at.filter(|_| it.is_star);
            self.at = self.merge(tested.filter(|_| handler.type_.is_some()), handled);
        }
        self.raise_from(self.at);
        goes_on
    }

    fn match_cases(&mut self, it: &'a StmtMatch) {
        self.expr(&it.subject);
        let end = self.join();
        for case in &it.cases {
            self.forget_bound_in(it.range);
            let mark = self.known.mark();
            let fails = self.join();
            self.pattern(&case.pattern, fails);
            if let Some(guard) = &case.guard {
                let holds = self.join();
                self.condition(guard, holds, fails);
                self.at = Some(holds);
            }
            self.body(&case.body);
            self.known.take_back(mark);
            self.go_to(end);
            self.at = Some(fails);
        }
        self.go_to(end);
        self.at = Some(end);
    }

    /// Goes on if the subject has the pattern, else at `fails`.
    fn pattern(&mut self, pattern: &'a Pattern, fails: u32) {
        guarded(|| self.pattern_here(pattern, fails));
    }

    fn pattern_here(&mut self, pattern: &'a Pattern, fails: u32) {
        let line = self.line_of(pattern);
        let lines = LinesByVersion::same(line);
        (self.here, self.here_310) = (line, line);
        match pattern {
            Pattern::MatchValue(it) => {
                self.expr(&it.value);
                let kind = SiteKind::Compare {
                    op: CompareOp::Eq,
                    left_is_literal: false,
                    may_hash: false,
                };
                self.site(kind, lines, it.range);
                self.site(SiteKind::TruthTest, lines, it.range);
                self.go_to(fails);
            }
            Pattern::MatchSingleton(_) => self.go_to(fails),
            Pattern::MatchSequence(it) => {
                self.go_to(fails);
                self.site(SiteKind::Unpack { n: it.patterns.len() as u32 }, lines, it.range);
                it.patterns.iter().for_each(|it| self.pattern(it, fails));
            }
            Pattern::MatchMapping(it) => {
                self.go_to(fails);
                for key in &it.keys {
                    self.expr(key);
                }
                for key in &it.keys {
                    let is_literal = expressions::is_literal(key);
                    let index = Index { indices: 1, is_literal, ..Index::default() };
                    let kind = SiteKind::Subscript { access: Access::Load, index };
                    self.site(kind, lines, key.range());
                    self.go_to(fails);
                }
                it.patterns.iter().for_each(|it| self.pattern(it, fails));
            }
            Pattern::MatchClass(it) => {
                self.expr(&it.cls);
                self.go_to(fails);
                for keyword in &it.arguments.keywords {
                    let name = keyword.attr.to_string();
                    let kind = SiteKind::Attribute {
                        name,
                        access: Access::Load,
                        owner: None,
                        is_of_import: false,
                        is_of_self: false,
                        is_called: false,
                    };
                    self.site(kind, lines, keyword.range);
                    self.go_to(fails);
                }
                it.arguments.patterns.iter().for_each(|it| self.pattern(it, fails));
                it.arguments.keywords.iter().for_each(|it| self.pattern(&it.pattern, fails));
            }
            Pattern::MatchStar(_) => {}
            Pattern::MatchAs(it) => {
                if let Some(inner) = &it.pattern {
                    self.pattern(inner, fails);
                }
            }
            Pattern::MatchOr(it) => {
                let matched = self.join();
                for (row, alternative) in it.patterns.iter().enumerate() {
                    let is_last = row + 1 == it.patterns.len();
                    let next = if is_last { fails } else { self.join() };
                    self.pattern(alternative, next);
                    self.go_to(matched);
                    self.at = Some(next);
                }
                self.at = Some(matched);
            }
        }
    }
}

/// Whether a handler is for whatever is raised: behind others, for what nobody expected.
fn catches_all(handler: &ExceptHandlerExceptHandler) -> bool {
    handler.type_.as_deref().is_none_or(|it| {
        it.as_name_expr().is_some_and(|it| matches!(&*it.id, "Exception" | "BaseException"))
    })
}

/// The names of what a handler is for.
fn caught_by(handler: &ExceptHandler) -> Vec<&str> {
    let ExceptHandler::ExceptHandler(handler) = handler;
    let types = match handler.type_.as_deref() {
        Some(Expr::Tuple(it)) => &*it.elts,
        type_ => type_.map_or(&[][..], std::slice::from_ref),
    };
    types.iter().filter_map(|it| Some(it.as_name_expr()?.id.as_str())).collect()
}

/// Whether a value is none that a tensor may hold, as far as the text shows.
fn is_in_no_tensor(value: &Expr) -> bool {
    matches!(
        value,
        Expr::Dict(_)
            | Expr::DictComp(_)
            | Expr::Set(_)
            | Expr::SetComp(_)
            | Expr::Lambda(_)
            | Expr::FString(_)
            | Expr::StringLiteral(_)
            | Expr::NoneLiteral(_)
    )
}
