//! What stands between the values of an event, and the memory of it.
//!
//! Between two values that differ from event to event (a name, a time, an id) stands text that hardly ever does:
//! `, "pid": 4711, "tid": 4711,\n    "ts": `. A [`Template`] is such a text and what it says; [`TemplateCache`] remembers the
//! ones that were met, by what stood before them in their event. So most of a trace is not parsed but compared, a few
//! words at a time. The memory changes nothing about the result: what a template says follows from its bytes and from the
//! templates before it, and a template of which that is not so is never remembered.

use profile::WarningKind;

use crate::keys::{Anomaly, EventKey, Label};
use crate::scan::{self, Scan, Stop};

/// Bytes of the longest template that is remembered. Kineto's are shorter in every version.
const MAX_LEN: usize = 64;

/// A constant value ends at the latest here, so that the key that comes next fits too.
const LAST_CONSTANT: usize = MAX_LEN - 18;

/// The values that hardly ever differ, so that they are taken for a part of the template.
const CONSTANTS: [Label; 4] = [Label::Phase, Label::Category, Label::Pid, Label::Tid];

/// What the bytes between two values say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Template {
    /// Its length in bytes.
    pub(crate) len: usize,
    /// What comes next.
    pub(crate) next: Next,
    /// Where the values of [`CONSTANTS`] are in the template.
    constants: [TemplateSpan; CONSTANTS.len()],
    /// Whether any of them is there: most templates have none.
    pub(crate) has_constants: bool,
    /// Whether what comes next is inside `args`.
    is_in_args: bool,
}

/// What follows a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The event has ended.
    End,
    /// The value of a key.
    Value(EventKey),
}

/// A part of a template; empty where there is none.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TemplateSpan {
    start: u8,
    len: u8,
}

impl TemplateSpan {
    /// The bytes, if there are any. `template` is where the template begins in `buf`.
    #[inline(always)]
    pub(crate) fn get(self, buf: &[u8], template: usize) -> Option<&[u8]> {
        let start = template + usize::from(self.start);
        (self.len > 0).then(|| &buf[start..start + usize::from(self.len)])
    }
}

/// Walks the members of an object.
pub(crate) struct Members<'a> {
    pub(crate) buf: &'a [u8],
    /// Position after the opening brace or the last value.
    pub(crate) at: usize,
    /// Whether another member may follow without a comma: after the opening brace.
    pub(crate) is_separated: bool,
}

impl<'a> Members<'a> {
    /// The members of the object that opens at `at`.
    pub(crate) fn of(buf: &'a [u8], at: usize) -> Self {
        Self { buf, at: at + 1, is_separated: true }
    }

    /// The next key and the position of its value, which is then to be moved past; `None` past the closing brace.
    /// Commas may be too many, but between members there must be one.
    #[inline(always)]
    pub(crate) fn next_key(&mut self) -> Scan<Option<(&'a [u8], usize)>> {
        let (mut byte, mut at) = scan::significant(self.buf, self.at)?;
        while byte == b',' {
            self.is_separated = true;
            (byte, at) = scan::significant(self.buf, at + 1)?;
        }
        match byte {
            b'"' if self.is_separated => {
                self.is_separated = false;
                scan::key(self.buf, at).map(Some)
            }
            b'}' => {
                self.at = at + 1;
                Ok(None)
            }
            _ => Err(Stop::Bad(at)),
        }
    }
}

/// Reads the template that begins at `start`: after a value, or (`is_first`) after the opening brace of an event. What the template
/// says must follow from its bytes alone, never from one behind it: it may be remembered. So `args` that are no object
/// are a part of it.
fn read(
    buf: &[u8],
    start: usize,
    mut is_in_args: bool,
    is_first: bool,
    anomalies: &mut Vec<Anomaly>,
) -> Scan<Template> {
    let mut members = Members { buf, at: start, is_separated: is_first };
    let mut constants = [TemplateSpan::default(); CONSTANTS.len()];
    let (end, next) = loop {
        let Some((key, value)) = members.next_key()? else {
            if is_in_args {
                is_in_args = false;
                continue;
            }
            break (members.at, Next::End);
        };
        let first = scan::byte(buf, value)?;
        if is_in_args {
            break (value, Next::Value(EventKey::of_arg(key)));
        }
        if key == b"args" {
            if first == b'{' {
                is_in_args = true;
                members = Members::of(buf, value);
            } else {
                members.at = scan::skip_value(buf, value)?;
                if buf[value..members.at] != *b"null" {
                    let message = "the args of an event are no object and were ignored";
                    anomalies.push((WarningKind::Other, value, message));
                }
            }
            continue;
        }
        let is_damaged = || !key.iter().all(|byte| (b' '..=b'~').contains(byte));
        let key = match EventKey::of_event(key) {
            // Every field of an event is plain ASCII. Without the one that this was, the event would be another.
            EventKey::Other if is_damaged() => return Err(Stop::Bad(value)),
            key => key,
        };
        match key {
            EventKey::Label(label) => {
                let index = CONSTANTS.iter().position(|&it| it == label);
                let Some(index) = index else { break (value, Next::Value(key)) };
                let Some((span, end)) = constant(buf, start, value)? else {
                    break (value, Next::Value(key));
                };
                constants[index] = span;
                members.at = end;
            }
            _ => break (value, Next::Value(key)),
        }
    };
    let has_constants = constants.iter().any(|it| it.len > 0);
    Ok(Template { len: end - start, next, constants, has_constants, is_in_args })
}

/// The plain string or number at `value`, if it is near enough to the template's `start`, and the position after it.
fn constant(buf: &[u8], start: usize, value: usize) -> Scan<Option<(TemplateSpan, usize)>> {
    let (raw, first, end) = match buf[value] {
        b'"' => {
            let (text, end) = scan::string(buf, value)?;
            if text.needs_unescape {
                return Ok(None);
            }
            (text.raw, value + 1, end)
        }
        b'-' | b'0'..=b'9' => {
            let (raw, end) = scan::word(buf, value)?;
            (raw, value, end)
        }
        _ => return Ok(None),
    };
    if raw.is_empty() || end - start > LAST_CONSTANT {
        return Ok(None);
    }
    // Both fit in a byte, being within `LAST_CONSTANT`.
    let span = |it: usize| u8::try_from(it).unwrap_or(u8::MAX);
    Ok(Some((TemplateSpan { start: span(first - start), len: span(raw.len()) }, end)))
}

/// The templates that were met: a tree, in which the templates below a template are those that followed it in an event.
#[derive(Debug)]
pub(crate) struct TemplateCache {
    /// The first stands for the beginning of an event.
    nodes: Vec<TemplateNode>,
    /// The last template that is not remembered.
    passing: Template,
}

/// A template, and what followed it.
#[derive(Debug)]
struct TemplateNode {
    text: [u64; MAX_LEN / 8],
    /// Which bytes of the last word of `text` count, and how many words there are.
    last_mask: u64,
    n_words: usize,
    template: Template,
    /// Indices of the templates that followed, the last one met first.
    below: Vec<u32>,
}

/// Where in the tree an event is: the index of the template that was read last, or [`TemplateCache::OFF`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Path(usize);

impl TemplateCache {
    /// Templates that are remembered at most; then all are forgotten, and the ones that matter come back soon.
    const MAX_TEMPLATES: usize = 4096;

    /// Templates that are remembered at most after the same template.
    const MAX_BELOW: usize = 16;

    /// Stands for a template that is not remembered.
    const OFF: usize = usize::MAX;

    pub(crate) fn new() -> Self {
        Self { nodes: vec![TemplateNode::new(&[], Template::NOTHING)], passing: Template::NOTHING }
    }

    /// The path of an event of which nothing was read.
    pub(crate) fn start() -> Path {
        Path(0)
    }

    /// The template that begins at `at`. It is borrowed, not copied: a copy is written in other pieces than it is read
    /// in, for which processors wait, and took a tenth of the time of reading.
    #[inline(always)]
    pub(crate) fn next(
        &mut self,
        buf: &[u8],
        at: usize,
        path: &mut Path,
        anomalies: &mut Vec<Anomaly>,
    ) -> Scan<&Template> {
        *path = match self.known(buf, at, *path) {
            Some(path) => path,
            None => self.read(buf, at, *path, anomalies)?,
        };
        Ok(self.template(*path))
    }

    #[inline(always)]
    fn template(&self, path: Path) -> &Template {
        self.nodes.get(path.0).map_or(&self.passing, |it| &it.template)
    }

    /// The template that begins at `at`, if it is remembered.
    #[inline(always)]
    fn known(&mut self, buf: &[u8], at: usize, path: Path) -> Option<Path> {
        let node = self.nodes.get(path.0)?;
        let window = buf.get(at..)?.first_chunk::<{ MAX_LEN + 1 }>()?;
        let &first = node.below.first()?;
        if self.nodes[first as usize].fits(window) {
            return Some(Path(first as usize));
        }
        let index = node.below.iter().position(|&it| self.nodes[it as usize].fits(window))?;
        Some(self.move_up(path, index))
    }

    /// Makes one of the templates that followed the first that is tried.
    fn move_up(&mut self, path: Path, index: usize) -> Path {
        let below = &mut self.nodes[path.0].below;
        below.swap(0, index);
        Path(below[0] as usize)
    }

    #[cold]
    fn read(
        &mut self,
        buf: &[u8],
        at: usize,
        path: Path,
        anomalies: &mut Vec<Anomaly>,
    ) -> Scan<Path> {
        let n_anomalies = anomalies.len();
        let is_in_args = self.template(path).is_in_args;
        let template = read(buf, at, is_in_args, path == Self::start(), anomalies)?;
        // An anomaly in it is to be reported every time.
        let node = if anomalies.len() == n_anomalies {
            self.remember(&buf[at..at + template.len], template, path.0)
        } else {
            Self::OFF
        };
        self.passing = template;
        Ok(Path(node))
    }

    /// The node of a new template below `above`.
    fn remember(&mut self, text: &[u8], template: Template, above: usize) -> usize {
        // A key with an escape may be read differently where something else follows.
        if above == Self::OFF || text.len() > MAX_LEN || text.contains(&b'\\') {
            return Self::OFF;
        }
        if self.nodes.len() >= Self::MAX_TEMPLATES {
            *self = Self::new();
            return Self::OFF;
        }
        let node = self.nodes.len();
        let below = &mut self.nodes[above].below;
        if below.len() >= Self::MAX_BELOW {
            below.pop();
        }
        below.insert(0, u32::try_from(node).unwrap_or(u32::MAX));
        self.nodes.push(TemplateNode::new(text, template));
        node
    }
}

impl Template {
    /// The values in the template that hardly ever differ.
    #[inline(always)]
    pub(crate) fn constants(&self) -> impl Iterator<Item = (Label, TemplateSpan)> {
        CONSTANTS.into_iter().zip(self.constants)
    }

    /// Before the first template of an event.
    const NOTHING: Self = Self {
        len: 0,
        next: Next::End,
        constants: [TemplateSpan { start: 0, len: 0 }; CONSTANTS.len()],
        has_constants: false,
        is_in_args: false,
    };
}

impl TemplateNode {
    fn new(text: &[u8], template: Template) -> Self {
        let mut words = [0; MAX_LEN / 8];
        for (word, bytes) in words.iter_mut().zip(text.chunks(8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(padded);
        }
        let n_words = text.len().div_ceil(8);
        let n_padding = n_words * 8 - text.len();
        Self {
            text: words,
            last_mask: u64::MAX >> (8 * n_padding),
            n_words,
            template,
            below: Vec::new(),
        }
    }

    /// Whether the template stands at the beginning of `window`.
    #[inline(always)]
    fn fits(&self, window: &[u8; MAX_LEN + 1]) -> bool {
        let mut different = 0;
        let mut last = 0;
        for (word, bytes) in self.text[..self.n_words].iter().zip(window.as_chunks::<8>().0) {
            different |= last;
            last = word ^ u64::from_le_bytes(*bytes);
        }
        different |= last & self.last_mask;
        // More space before the value would belong to the template.
        let follows = window.get(self.template.len).copied().unwrap_or_default();
        let is_whole = self.template.next == Next::End || follows > b' ';
        different == 0 && is_whole
    }
}
