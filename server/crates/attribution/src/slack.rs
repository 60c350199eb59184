//! How far a thread would be ahead of a device if it did not wait, and what idle time of the device that explains.

use ledger::Ns;
use line_stacks::{LineId, grow_to};
use recorded::{IdleCause, IdleGap};

/// A sync of a thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sync {
    pub(crate) start: Ns,
    pub(crate) end: Ns,
    /// The line that it is charged to, or [`LineId::NONE`].
    pub(crate) line: LineId,
    /// Which of all syncs of the recording it is.
    pub(crate) row: usize,
}

/// How far a thread would be ahead of one device if it had not waited on the line where it waited last.
#[derive(Debug, Default)]
pub(crate) struct Slack {
    /// Syncs of the thread that were looked at.
    seen: usize,
    line: Option<LineId>,
    /// The row of each sync in order, and what of its time no gap took.
    left: Vec<(usize, Ns)>,
    /// By gap, in order of time: how much of it the waits explain, from its start on.
    caused: Vec<Ns>,
}

impl Slack {
    /// Gaps that were looked at.
    pub(crate) fn len(&self) -> usize {
        self.caused.len()
    }

    /// Up to when a wait is why the device was idle in a gap that was looked at.
    pub(crate) fn until(&self, index: usize, gap: &IdleGap) -> Ns {
        gap.start + self.caused.get(index).copied().unwrap_or(Ns::ZERO)
    }

    /// Looks at the next gap that the thread ended. `syncs` are those of the thread in order, at least all that began until
    /// the gap did; `avoidable` gains by row what the gap takes of each: a thread that does not wait comes to its next launch
    /// earlier by that.
    pub(crate) fn look_at(&mut self, gap: &IdleGap, syncs: &[Sync], avoidable: &mut Vec<Ns>) {
        while let Some(sync) = syncs.get(self.seen).filter(|it| it.start <= gap.start) {
            self.seen += 1;
            // With something to wait for on another line, the thread would only wait there longer.
            if self.line != Some(sync.line) {
                self.line = Some(sync.line);
                self.left.clear();
            }
            self.left.push((sync.row, sync.end - sync.start));
        }
        let by_host = if gap.cause == IdleCause::Host { gap.end - gap.start } else { Ns::ZERO };
        let mut rest = by_host;
        while rest > Ns::ZERO
            && let Some((row, left)) = self.left.pop()
        {
            let taken = left.min(rest);
            rest -= taken;
            *grow_to(avoidable, row) += taken;
            if taken < left {
                self.left.push((row, left - taken));
            }
        }
        self.caused.push(by_host - rest);
    }
}

#[cfg(test)]
mod tests {
    use profile::ThreadId;

    use super::*;

    fn gap(start: i64, end: i64, cause: IdleCause) -> IdleGap {
        IdleGap { device: 0, start: Ns(start), end: Ns(end), cause, launcher: Some(ThreadId(0)) }
    }

    fn sync(start: i64, end: i64, line: u32, row: usize) -> Sync {
        Sync { start: Ns(start), end: Ns(end), line: LineId(line), row }
    }

    #[test]
    fn waits_explain_gaps_until_another_line_waits() {
        let syncs = [sync(0, 10, 1, 0), sync(20, 23, 1, 1), sync(50, 55, 2, 2), sync(61, 69, 2, 3)];
        let gaps = [
            // Of the latest sync first, then what the one before has left.
            (gap(22, 28, IdleCause::Host), 6, [3, 3, 0, 0]),
            (gap(30, 40, IdleCause::Other), 0, [3, 3, 0, 0]),
            (gap(41, 43, IdleCause::Host), 2, [5, 3, 0, 0]),
            // Another line: what is left of the waits before would only be waited here.
            (gap(55, 65, IdleCause::Host), 5, [5, 3, 5, 0]),
        ];
        let (mut slack, mut avoidable) = (Slack::default(), vec![Ns::ZERO; 4]);
        for (row, (gap, caused, expected)) in gaps.into_iter().enumerate() {
            slack.look_at(&gap, &syncs, &mut avoidable);
            assert_eq!(slack.until(row, &gap), gap.start + Ns(caused));
            assert_eq!(avoidable, expected.map(Ns));
        }
        assert_eq!(slack.len(), 4);
    }
}
