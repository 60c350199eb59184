//! Where the lines of a recording are in an open document.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pysource::{LineIndex, LineMap};

/// Changes of a document that may wait for somebody to ask. Each holds the text before it.
const MAX_WAITING: usize = 64;

/// A map of lines that follows the changes of a document when somebody asks for it, on the thread that does: a change of tens of
/// thousands of lines takes a while, and the thread that takes in messages does not wait for it. It is made once for all that ask.
pub(crate) struct CarriedLines {
    map: OnceLock<Arc<LineMap>>,
    /// What the map is made from; `None` once it was made.
    waiting: Mutex<Option<WaitingChange>>,
    /// Changes in a row that had not been followed when this was made.
    n_waiting: usize,
}

/// A change that is to be followed.
struct WaitingChange {
    before: Arc<CarriedLines>,
    text: Arc<str>,
    index: Arc<LineIndex>,
    /// What was replaced, each in the text that the one before it left.
    edits: Vec<(Range<usize>, String)>,
}

impl CarriedLines {
    pub(crate) fn new(map: LineMap) -> Arc<Self> {
        let map = OnceLock::from(Arc::new(map));
        Arc::new(Self { map, waiting: Mutex::new(None), n_waiting: 0 })
    }

    /// The lines after the bytes of each of `edits` were replaced in `text`, one after the other. `None` where so many changes wait that
    /// it takes less to compare the newest text with the recorded one.
    pub(crate) fn changed(
        self: &Arc<Self>,
        text: &Arc<str>,
        index: &Arc<LineIndex>,
        edits: Vec<(Range<usize>, String)>,
    ) -> Option<Arc<Self>> {
        let n_waiting = if self.map.get().is_some() { 1 } else { self.n_waiting + 1 };
        let (text, index) = (Arc::clone(text), Arc::clone(index));
        let waiting = WaitingChange { before: Arc::clone(self), text, index, edits };
        (n_waiting <= MAX_WAITING).then(|| {
            let waiting = Mutex::new(Some(waiting));
            Arc::new(Self { map: OnceLock::new(), waiting, n_waiting })
        })
    }

    /// Where the lines are. Follows the changes that nobody asked for yet.
    pub(crate) fn map(self: &Arc<Self>) -> Arc<LineMap> {
        let mut unmade = Vec::new();
        let mut at = Arc::clone(self);
        let mut map = loop {
            if let Some(map) = at.map.get() {
                break Arc::clone(map);
            }
            // Where another thread has just made it, it is there now.
            let before = at.waiting().as_ref().map(|it| Arc::clone(&it.before));
            if let Some(before) = before {
                unmade.push(std::mem::replace(&mut at, before));
            }
        };
        for lines in unmade.into_iter().rev() {
            map = Arc::clone(lines.map.get_or_init(|| match &*lines.waiting() {
                Some(change) => Arc::new(change.follow(&map)),
                None => map,
            }));
            *lines.waiting() = None;
        }
        map
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Option<WaitingChange>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WaitingChange {
    fn follow(&self, before: &LineMap) -> LineMap {
        let mut map = before.clone();
        let mut text = self.text.to_string();
        let mut index = Arc::clone(&self.index);
        for (range, replacement) in &self.edits {
            map.edit(&text, &index, range.clone(), replacement);
            text.replace_range(range.clone(), replacement);
            index = Arc::new(LineIndex::new(&text));
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text, its lines carried when somebody asks, and carried at each change.
    struct EditedText {
        text: Arc<str>,
        lines: Option<Arc<CarriedLines>>,
        at_once: LineMap,
    }

    impl EditedText {
        fn new(text: &str) -> Self {
            let at_once = LineMap::identity(text);
            let lines = Some(CarriedLines::new(at_once.clone()));
            Self { text: text.into(), lines, at_once }
        }

        fn change(&mut self, edits: &[(Range<usize>, &str)]) {
            let (before, index) = (Arc::clone(&self.text), Arc::new(LineIndex::new(&self.text)));
            let mut text = self.text.to_string();
            for (range, new) in edits {
                self.at_once.edit(&text, &LineIndex::new(&text), range.clone(), new);
                text.replace_range(range.clone(), new);
            }
            let edits = edits.iter().map(|(range, new)| (range.clone(), (*new).to_owned()));
            let lines = self.lines.take().unwrap();
            self.lines = lines.changed(&before, &index, edits.collect());
            self.text = text.into();
        }
    }

    #[test]
    fn changes_are_followed_when_somebody_asks() {
        let mut buffer = EditedText::new("a()\nb()\nc()\n");
        buffer.change(&[(0..0, "new()\n"), (6..9, "aa()"), (0..1, "N")]);
        buffer.change(&[(11..14, "")]);
        let first = buffer.lines.clone().unwrap();
        buffer.change(&[(0..4, "x()\ny()\n")]);
        let lines = buffer.lines.clone().unwrap();
        assert!(first.map.get().is_none() && lines.map.get().is_none());
        assert_eq!(*lines.map(), buffer.at_once);
        assert!(Arc::ptr_eq(&lines.map(), &lines.map()), "made once");
        assert!(first.map.get().is_some(), "what was made on the way stays");
        assert!(lines.waiting().is_none() && first.waiting().is_none());
    }

    #[test]
    fn threads_that_ask_at_once_get_the_same() {
        let mut buffer = EditedText::new("a()\nb()\n");
        for _ in 0..MAX_WAITING {
            buffer.change(&[(0..0, "x")]);
        }
        let lines = buffer.lines.unwrap();
        let maps = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| lines.map())).collect();
            threads.into_iter().map(|it| it.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(maps.iter().all(|it| Arc::ptr_eq(it, &maps[0])));
        assert_eq!(*maps[0], buffer.at_once);
    }

    #[test]
    fn only_so_many_changes_wait() {
        let mut buffer = EditedText::new("a()\n");
        for _ in 0..MAX_WAITING {
            buffer.change(&[(0..0, "x")]);
        }
        let (text, index) = (Arc::clone(&buffer.text), Arc::new(LineIndex::new(&buffer.text)));
        let lines = buffer.lines.unwrap();
        assert!(lines.changed(&text, &index, Vec::new()).is_none());
        lines.map();
        assert!(lines.changed(&text, &index, Vec::new()).is_some(), "none waits any more");
    }
}
