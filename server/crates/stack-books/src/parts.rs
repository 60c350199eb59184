//! Parts of the books: what is below some entries, what is of a phase of training.

use ledger::Evidence;

use crate::books::{StackBooks, StackFrame, StackRow};
use crate::phase::TrainingPhase;

impl StackBooks {
    /// The stacks with an entry that is `wanted`.
    #[must_use]
    pub fn below(&self, wanted: impl Fn(&StackFrame) -> bool) -> Self {
        self.part(false, |is_below, frame| is_below || wanted(frame), |is_below| is_below)
    }

    /// The stacks of a phase of training.
    #[must_use]
    pub fn of_phase(&self, phase: TrainingPhase) -> Self {
        self.part(PhaseOfStack::default(), PhaseOfStack::with, |it| it.phase == Some(phase))
    }

    /// The stacks of which `is_wanted` is true of what `step` makes of their entries, the outermost first, beginning with
    /// `start`.
    fn part<T: Copy>(
        &self,
        start: T,
        step: impl Fn(T, &StackFrame) -> T,
        is_wanted: impl Fn(T) -> bool,
    ) -> Self {
        let frames: Vec<(&StackFrame, Evidence)> = self.frames().collect();
        let mut part = Self::default();
        if self.has_steps() {
            part.keep_steps();
        }
        // By stack: what is known of it, and its place in the part, where it has one.
        let mut known = vec![(start, Some(StackRow::ROOT))];
        // By stack: its place in the part, where it is wanted itself.
        let mut places = vec![None];
        for stack in self.stacks() {
            let state = step(known[self.parent(stack).index()].0, self.frame_of(stack));
            known.push((state, None));
            places.push(None);
            if !is_wanted(state) {
                continue;
            }
            // The entries around the first one that is wanted have no place yet.
            let mut without_place = Vec::new();
            let mut at = stack;
            let mut row = loop {
                match known[at.index()].1 {
                    Some(row) => break row,
                    None => without_place.push(at),
                }
                at = self.parent(at);
            };
            for at in without_place.into_iter().rev() {
                let (frame, evidence) = frames[self.innermost(at).index()];
                let frame = part.frame(frame.clone());
                part.add_evidence(frame, evidence);
                row = part.push(row, frame);
                known[at.index()].1 = Some(row);
            }
            for kept in Self::amounts() {
                part.add(kept, row, self.amount(kept, stack));
            }
            part.count(row, self.events(stack));
            places[stack.index()] = Some(row);
        }
        for (step, metric, stack, amount) in self.in_steps() {
            if let Some(row) = places[stack.index()] {
                part.add_in_step(step, metric, row, amount);
            }
        }
        part
    }
}

/// The phase of a stack, up to an entry.
#[derive(Debug, Clone, Copy, Default)]
struct PhaseOfStack {
    phase: Option<TrainingPhase>,
    /// Whether the last entry is a node of autograd that computes again.
    is_checkpoint_node: bool,
}

impl PhaseOfStack {
    fn with(self, frame: &StackFrame) -> Self {
        let begins = TrainingPhase::beginning_at(frame);
        let phase = match (self.phase, begins) {
            (None, _) => begins,
            (Some(TrainingPhase::Backward), Some(TrainingPhase::Recompute)) => begins,
            (Some(TrainingPhase::Recompute), Some(TrainingPhase::Backward))
                if self.is_checkpoint_node =>
            {
                begins
            }
            (outermost, _) => outermost,
        };
        Self { phase, is_checkpoint_node: TrainingPhase::is_checkpoint_node(frame) }
    }
}

#[cfg(test)]
mod tests {
    use ledger::{LineKey, Metric};

    use super::*;
    use crate::books::FramedLine;

    fn line(file: &str, function: &str) -> StackFrame {
        let key = LineKey { file: file.to_owned(), line: 1 };
        StackFrame::Line(FramedLine { key, function: function.to_owned(), is_user_code: false })
    }

    #[test]
    fn the_outermost_phase_of_a_stack_counts() {
        let main = || line("/train.py", "main");
        let module = || line("/v/site-packages/torch/nn/modules/module.py", "Module._call_impl");
        let node =
            StackFrame::Operator("autograd::engine::evaluate_function: MulBackward0".to_owned());
        let backward = || line("/v/torch/autograd/__init__.py", "backward");
        let checkpoint = |function| line("/v/torch/utils/checkpoint.py", function);
        let again = || checkpoint("_checkpoint_without_reentrant_generator.recompute_fn");
        let node_again = || checkpoint("CheckpointFunction.backward");
        let rows = [
            (
                vec![main(), module(), line("/model.py", "Net.forward")],
                Some(TrainingPhase::Forward),
            ),
            (
                vec![
                    main(),
                    line("/v/torch/nn/modules/module.py", ""),
                    line("/model.py", "forward"),
                ],
                Some(TrainingPhase::Forward),
            ),
            (vec![main(), node, module()], Some(TrainingPhase::Backward)),
            (
                vec![main(), line("/v/torch/_tensor.py", "Tensor.backward")],
                Some(TrainingPhase::Backward),
            ),
            (
                vec![line(r"C:\torch\optim\lbfgs.py", "step"), module()],
                Some(TrainingPhase::Optimizer),
            ),
            (
                vec![line("/v/torch/utils/data/dataloader.py", "__next__")],
                Some(TrainingPhase::Loader),
            ),
            // Code of the same files that begins no phase.
            (vec![main(), line("/v/torch/autograd/grad_mode.py", "decorate_context")], None),
            (vec![main(), line("/v/torch/autograd/function.py", "Function.apply")], None),
            (vec![main(), line("/v/torch/nn/modules/module.py", "Module.parameters")], None),
            (vec![main(), line("/v/torch/optim/lr_scheduler.py", "StepLR.step")], None),
            (vec![main(), StackFrame::Operator("aten::mul".to_owned())], None),
            (vec![main(), line("/v/torch/utils/checkpoint.py", "unpack_hook")], None),
            // What is computed again, a backward pass that a checkpoint runs for it, and what is computed again in that.
            (vec![main(), backward(), again(), module()], Some(TrainingPhase::Recompute)),
            (vec![main(), backward(), node_again()], Some(TrainingPhase::Recompute)),
            (vec![main(), backward(), node_again(), backward()], Some(TrainingPhase::Backward)),
            (
                vec![main(), backward(), node_again(), backward(), again()],
                Some(TrainingPhase::Recompute),
            ),
            (vec![main(), backward(), again(), backward()], Some(TrainingPhase::Recompute)),
            (
                vec![line("/v/torch/optim/lbfgs.py", "step"), backward(), again()],
                Some(TrainingPhase::Optimizer),
            ),
        ];
        let mut books = StackBooks::default();
        for (amount, (frames, _)) in (1..).zip(&rows) {
            let mut stack = StackRow::ROOT;
            for frame in frames {
                let frame = books.frame(frame.clone());
                stack = books.push(stack, frame);
            }
            books.add(Metric::Cpu, stack, amount);
        }
        for phase in TrainingPhase::ALL {
            let expected: i64 =
                (1..).zip(&rows).filter(|(_, it)| it.1 == Some(phase)).map(|(it, _)| it).sum();
            assert_eq!(books.of_phase(phase).total(Metric::Cpu), expected, "{phase:?}");
        }
    }
}
