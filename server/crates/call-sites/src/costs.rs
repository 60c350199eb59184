//! The costs by which paths are compared, before anything is learned from the recording: one table, each with its reason.
//!
//! A cost is −4 ln p, rounded: 0 is what one expects, 3 is half as likely, 4 is e times less likely, 9 a tenth, 18 a
//! hundredth. They are estimates made by looking at recordings whose truth is known; what is learned from the recording at
//! hand soon outweighs them. `cargo run -p tests --example fit_costs` varies one at a time and counts what is assigned
//! rightly.

macro_rules! costs {
    ($($(#[doc = $reason:literal])+ $name:ident = $cost:literal,)*) => {
        /// All costs that are set, not learned.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Costs {
            $($(#[doc = $reason])+ pub $name: u32,)*
        }

        impl Default for Costs {
            fn default() -> Self {
                Self { $($name: $cost,)* }
            }
        }

        impl Costs {
            /// Each cost with its name, to be varied.
            pub fn each_mut(&mut self) -> Vec<(&'static str, &mut u32)> {
                vec![$((stringify!($name), &mut self.$name),)*]
            }
        }
    };
}

costs! {
    /// An event that no expression explains. More than most improbable explanations, less than two of them.
    unexplained = 40,
    /// A line is assigned if every path that takes the event to another line costs at least this much more: such a path is
    /// e times less likely.
    min_margin = 4,
    /// What is learned from: events for which every other site costs at least this much more.
    min_lesson = 3,
    /// An edge that no path took whose lines were clear, where others came by: the same branch is taken again and again.
    never_taken = 2,
    /// A frame that was open when recording began, and is not on the line that its name says.
    elsewhere = 10,
    /// Not reaching the end of the function: an exception, or the end of the recording.
    not_returned = 16,
    /// The same of a frame behind which the function that called it went on, without a handler there.
    not_returned_seen = 48,
    /// Going on in a handler, or out of the function, because something raised: exceptions are rare.
    raised = 16,
    /// Going on in a handler behind what finds nothing now and then, where there is a handler for that: `next` in a `try` with
    /// `except StopIteration`.
    raised_in_vain = 3,
    /// An operator of tensors where the text works on numbers: what a name is assigned may not be all that it holds.
    plain_operator = 10,
    /// An event on the one line that it is known to come from, whatever stands there.
    known_line = 8,

    /// A condition that lasts, as far as the text shows, and changed within a frame.
    condition_changed = 12,

    /// Going on where a condition on hooks holds: PyTorch looks for hooks wherever there can be some, mostly in vain.
    branch_with_hooks = 4,

    /// Skipping a call of something unknown: it may be a class, which leaves no event of its own.
    skip_unknown_call = 5,
    /// Skipping a call of a class: `__init__` mostly leaves an event, unless it is a built-in's.
    skip_class = 3,
    /// Skipping a call of an attribute of `self`: most hold modules and functions, which leave events.
    skip_attribute_call = 8,
    /// Skipping a call of a method or of something imported: most leave events, some are built-in types.
    skip_method = 9,
    /// Skipping a call of a function of the same text or of a built-in: both leave events.
    skip_defined = 12,
    /// Skipping a call of a method of modules that is a generator.
    skip_generator = 2,
    /// Skipping a call of a function that keeps what it returned.
    skip_memoized = 1,
    /// Skipping a comprehension that is a function: its frame is recorded.
    skip_comprehension = 8,
    /// Skipping an operator or comparison: as often on numbers as on tensors.
    skip_operator = 2,
    /// Skipping `__enter__` or `__exit__`: built-in context managers leave nothing.
    skip_context = 3,
    /// `__enter__` or `__exit__` that runs a generator which the `with` does not name.
    context_of_other = 3,
    /// Skipping an operator, comparison or test of truth on what is a tensor: its annotation may be wrong.
    skip_of_tensor = 9,
    /// Skipping a unary operator or a subscript: mostly on numbers, lists and dicts.
    skip_subscript = 1,
    /// Skipping a subscript by several dimensions, as only tensors and arrays have: `x[:, 0]`, `x[..., None]`.
    skip_dimensions = 6,
    /// Skipping one more part of such a subscript: if one of them leaves nothing, the others hardly leave more.
    skip_dimension = 2,
    /// Skipping an attribute that holds a module, parameter or buffer: `nn.Module.__getattr__` finds it; or one of a class
    /// that has a `__getattribute__`.
    skip_registered = 10,
    /// Skipping an attribute that holds one of these or something plain.
    skip_maybe_registered = 2,
    /// Skipping a method with a decorator as an attribute: it is a property, or it is not.
    skip_decorated_method = 4,

    /// One more operator from a subscript whose brackets ask for one.
    repeat_subscript = 8,
    /// One more operator from a subscript to which was written: that was its last.
    repeat_written = 8,
    /// One more function of the package that the called function is imported from.
    repeat_of_package = 2,
    /// One more operator from a subscript by an expression, or from a type that makes tensors: an array becomes one first.
    repeat_indexing = 2,
    /// One more function from an iteration or unpacking: `__next__` after `__iter__`.
    repeat_iteration = 1,
    /// One more event of formatting, importing, testing or comparing, which run methods one after the other.
    repeat_conversion = 2,
    /// One more event from an operator: a fallback, `__radd__` after `__add__`.
    repeat_operator = 6,
    /// One more event from any other site: a call calls once.
    repeat_other = 14,

    /// A step of a generator where built-in iterables are iterated.
    generator_of_builtin = 16,
    /// A step of a generator in an iteration whose text does not name it.
    generator_unnamed = 3,
    /// A generator that is unpacked and not known to be what is unpacked.
    generator_unpacked = 10,
    /// A generator taken by `*`, `await`, `list(…)` and the like, where the text does not name it.
    generator_taken_unnamed = 3,
    /// A step of a generator in `next(…)` or `.send(…)`.
    generator_next = 1,
    /// A generator that goes on where it was not begun: it is rather another one of the same function.
    generator_not_begun = 12,
    /// A generator that begins where one just ended, without a way there: `itertools.chain` of two.
    generator_restarted = 8,
    /// A generator where it is made: its frame runs later.
    generator_made = 6,
    /// A step of a generator in any other call.
    generator_in_call = 12,
    /// A step of a generator in `with`: `contextlib.contextmanager` runs it in a function of its own.
    generator_context = 6,

    /// The end of a generator because the attribute that held it is assigned something else.
    generator_released = 8,

    /// A method that an operator, subscript or comparison stands for, and another that may stand for it as well.
    special_method = 1,
    /// The same by way of what a decorator made of it.
    wrapped_special_method = 2,
    /// A function that may wrap the method of an operator, comparison, subscript, `__enter__` or `__exit__`, if it calls
    /// none: such methods seldom have decorators, functions that are called often do.
    wrapper_of_special = 14,
    /// `__getattr__` for an attribute of `self` whose values the text does not say.
    getattr_unknown = 1,
    /// `__getattr__` for an attribute of `self` that is found without it.
    getattr_found = 16,
    /// `__getattr__` for an attribute that tensors have.
    getattr_of_tensor = 14,
    /// `__getattr__` for an attribute of something else that is called: a method, found without it.
    getattr_called = 9,
    /// `__getattr__` for any other attribute of something else.
    getattr_other = 3,
    /// What a decorator made of a function, as a property: it is rather called.
    property_nested = 12,
    /// A function without source as a property of its name.
    property_without_source = 4,
    /// A function without source as a property whose value is called: the call has an event of its own.
    property_called = 14,
    /// A property by another name.
    property_renamed = 22,
    /// `__torch_function__` for an operator or a subscript: an operand is of a subclass of tensors.
    torch_function = 4,
    /// The same where what it calls is no such operator.
    torch_function_of_other = 12,
    /// `__missing__` for a subscript, or what a `defaultdict` calls: `__init__`, a lambda.
    missing_key = 4,
    /// An element of what `*` or `**` takes: mostly of a built-in type, which leaves nothing.
    spread_element = 4,
    /// `__next__` where the iteration begins, `__iter__` where it goes on.
    iteration_swapped = 8,
    /// `__len__` or `__getitem__` for an iteration: the old protocol.
    iteration_by_index = 2,
    /// A function that `map` or `filter` calls, if the text names it.
    lazy_named = 1,
    /// A function that `map` or `filter` calls, if the text does not name it.
    lazy_unnamed = 6,
    /// A function without source where an iteration begins: hardly a generator function.
    iteration_starts_function = 20,
    /// A function without source where an iteration goes on: a generator function, maybe.
    iteration_steps_function = 8,
    /// `__iter__` where something is unpacked that is no tensor: mostly a tuple.
    unpack_object = 4,
    /// Any other function where something is unpacked.
    unpack_function = 20,
    /// What a function of TorchScript asks before it runs, in any call.
    scripted_call = 2,
    /// A function where a decorator is applied.
    decorator_applied = 8,
    /// A function where a frame waits or is left.
    await_function = 10,

    /// A function of the name that is called, but a method where a function is meant or the other way round.
    call_unlike = 3,
    /// A function of the name that is called, of another module than the one that the call names.
    call_of_other_module = 4,
    /// A method by `super()` of a class that is none of the bases: that of another branch of a multiple inheritance.
    super_of_other = 6,
    /// A function that the called variable was assigned, or the imported one by its own name.
    call_assigned = 1,
    /// The check that `isinstance` and `issubclass` run.
    call_check = 1,
    /// Such a check from anywhere else.
    call_check_elsewhere = 16,
    /// `__init__` of another class than the one that is called: that of a base.
    init_of_base = 4,
    /// `__init__` where something unknown is called.
    init_of_unknown = 6,
    /// `__init__` where something imported is called that is written like a function: `torch.no_grad`.
    init_of_imported = 7,
    /// `__init__` from any other call.
    init_elsewhere = 12,
    /// `__call__` where a class is called.
    call_object_class = 14,
    /// `__call__` where something unknown is called.
    call_object_unknown = 4,
    /// `__call__` where an attribute or something imported is called.
    call_object_attribute = 6,
    /// `__call__` where a method is called.
    call_object_method = 12,
    /// `__call__` where a function of the text or a built-in is called.
    call_object_defined = 16,
    /// An operator of `torch.ops` where another one is called: the built-in that runs it has its name, but for operators of a
    /// higher order.
    call_other_operator = 6,
    /// A dunder method where its function is called: `len` runs `__len__`.
    dunder_by_function = 1,
    /// A dunder method in a call that takes elements or runs functions.
    dunder_in_iteration = 3,
    /// A dunder method where something unknown is called.
    dunder_unknown = 7,
    /// A dunder method from any other call.
    dunder_elsewhere = 16,
    /// What may wrap the called function and calls it.
    wrapper_calls_it = 1,
    /// What may wrap a function, where one with a decorator is called, or a method of what is called like the wrapper's
    /// file.
    wrapper_decorated = 2,
    /// What may wrap a function, where something unknown is called.
    wrapper_unknown = 5,
    /// What may wrap a function, where one without decorator is called.
    wrapper_defined = 14,
    /// What may wrap a function, where a built-in is called.
    wrapper_builtin = 18,
    /// What may wrap a function, where `list` and the like take what `map` or `filter` gives.
    wrapper_mapped = 5,
    /// What may wrap a function, where anything else is called.
    wrapper_other = 7,
    /// A call with more or fewer arguments than what it calls takes.
    arguments_unlike = 12,
    /// A private implementation by its public name, and the other way round.
    call_alike = 4,
    /// A function that is handed to `map`, `sorted` and the like by its name.
    call_handed_named = 3,
    /// A function that is handed to these, not by its name.
    call_handed_unnamed = 9,
    /// A function where an unknown one with a part of its name is called.
    call_related_unknown = 5,
    /// Any function where an unknown one is called.
    call_unknown = 7,
    /// A function of another name than the called attribute of `self`: what it holds was mostly given to it.
    call_other_attribute = 8,
    /// Likewise, where both names end with the same word.
    call_attribute_alike = 4,
    /// A function of the package that the called function is imported from: C code calls it.
    call_of_package = 6,
    /// A function of another package than the one whose C code may be called, and calls functions of its own.
    call_with_package = 9,
    /// A dispatcher of NumPy, by the name of none of its functions, at a call of NumPy.
    dispatcher_of_several = 6,
    /// A function with a part of the name of the called method or import.
    call_related = 8,
    /// A function of another name than the called method.
    call_other_method = 13,
    /// A function of another name than the called import, or than the called function with a decorator.
    call_other_imported = 14,
    /// A function of another name than the called one of the text, or than the called built-in.
    call_other_defined = 18,

    /// A lambda or generator expression elsewhere than in the call that it is an argument of.
    argument_elsewhere = 10,
    /// A comprehension where another one stands.
    other_comprehension = 16,
    /// A generator expression in a call of a type, which takes its elements.
    genexpr_in_type = 3,
    /// A generator expression in another call.
    genexpr_in_call = 6,
    /// A lambda in a call that it is not an argument of.
    lambda_in_call = 8,
    /// A generator expression in an iteration or unpacking that is not made there.
    genexpr_iterated = 8,
    /// A generator expression after `in`.
    genexpr_in_comparison = 4,
    /// The code of a module, run by an import.
    import_module = 1,

    /// A module where the callee has no name: `self.layers[i](x)`.
    module_nameless = 3,
    /// A module where a type is called.
    module_of_type = 24,
    /// A module where a class is called: calling it makes one.
    module_of_class = 20,
    /// A module where a built-in is called.
    module_of_builtin = 24,
    /// A module where a function of the text is called.
    module_of_defined = 16,
    /// A module where a function of an imported module is called.
    module_of_function = 20,
    /// A module where an imported name is called.
    module_of_imported = 8,
    /// A module where a variable or attribute is called that holds one of another class: something may wrap it.
    module_of_other_class = 7,
    /// A module where a variable or an attribute of `self` is called.
    module_of_attribute = 3,
    /// A module where something is called that checkpoints: it runs in a function.
    module_of_checkpoint = 12,
    /// A module where another method is called.
    module_of_method = 6,

    /// A built-in of a similar name.
    builtin_alike = 12,
    /// A built-in where something unknown is called.
    builtin_unknown = 9,
    /// A built-in of another name than the called method, attribute or import.
    builtin_other = 14,
    /// A built-in of another name than the called function of the text or built-in.
    builtin_defined = 18,
    /// A built-in of another name than the called method, which lists, dicts and the like have: it is one of theirs.
    builtin_of_containers = 36,
    /// A built-in that runs a lambda or generator expression, where the call has no such argument.
    builtin_runs_unpassed = 3,
    /// A built-in that runs one, where the call has others as arguments.
    builtin_runs_other = 10,
    /// A built-in that runs a method of a class, where the call mentions nothing that is called like the class.
    builtin_of_other_object = 5,
    /// A built-in where a decorator is applied.
    builtin_decorator = 8,
    /// A built-in method for a special method: `__getitem__`, `__format__`, `__add__`.
    builtin_special = 1,
    /// A built-in method for an iteration: most leave nothing.
    builtin_iteration = 2,
    /// A built-in method for an attribute.
    builtin_attribute = 4,
    /// A built-in of the called name, but of a module where a method is called or the other way round.
    builtin_owner = 4,

    /// An operator that is not the usual one of a binary operator.
    operator_unusual = 2,
    /// Reading a comparison's truth where it gave no tensor right before.
    truth_without_comparison = 10,
    /// Going on behind an operator or comparison that gave a tensor, without the operator that works on it or the reading of its truth
    /// that comes next in the text.
    result_unused = 16,
    /// An ordering turned round, `gt` for `<`, where the left side is no number.
    comparison_turned = 9,
    /// Reading a tensor's value for its truth by another operator than `is_nonzero`.
    operator_truth = 9,
    /// `select` where `unbind` is usual: the old protocol of iteration.
    operator_select = 6,
    /// An operator of an attribute of tensors, or of formatting one.
    operator_attribute = 1,
    /// An operator of converting or iterating tensors in a call of a type.
    operator_conversion = 1,
    /// An operator of the called name without an event of the call.
    operator_of_call = 2,
    /// Any other operator directly below a call.
    operator_in_call = 16,
    /// An operator of a part that the brackets of a subscript do not have.
    subscript_without_part = 8,
    /// `alias` or `view` for a subscript with parts.
    subscript_alias = 3,
    /// An operator that makes a tensor of what stands in brackets that have slices alone: arrays are sliced so.
    subscript_unconverted = 12,
    /// An operator that makes a tensor of what a subscript is indexed by.
    subscript_converted = 5,
    /// An operator of advanced indexing: a mask is converted, an index is moved.
    subscript_other = 4,
    /// Reading the value of a tensor that may be an index.
    subscript_by_value = 2,
    /// Reading a part that is written.
    subscript_store = 1,
}
