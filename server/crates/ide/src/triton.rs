//! The kernels that a program writes in Triton, on the functions that define them.
//!
//! A recording names such a kernel as its function is called, and the line that launches it, but not where the function is.

use std::collections::BTreeMap;

use ledger::{Kernel, KernelKey, LineKey, Ns};
use pysource::Function;

use crate::place::PlacedSource;

/// What ran of a function that Triton compiled.
#[derive(Debug, Clone, Default)]
pub(crate) struct TritonKernel {
    /// Its runs.
    pub(crate) table: BTreeMap<KernelKey, Kernel>,
    /// The lines that launched it, with its time.
    pub(crate) launched: BTreeMap<LineKey, Ns>,
}

impl TritonKernel {
    /// The kernels that are called as a function is; `None` if Triton did not compile it, or none ran.
    pub(crate) fn of(source: &PlacedSource<'_>, function: &Function) -> Option<Self> {
        if !function.is_triton_kernel {
            return None;
        }
        let mut found = Self::default();
        let first = KernelKey { name: function.name.clone(), grid: [0; 3], block: [0; 3] };
        for (line, books) in &source.ledger.lines {
            let runs = books.kernel_table.range(&first..);
            for (key, kernel) in runs.take_while(|(key, _)| key.name == function.name) {
                found.table.entry(key.clone()).or_default().merge(kernel);
                *found.launched.entry(line.clone()).or_default() += kernel.total;
            }
        }
        (!found.table.is_empty()).then_some(found)
    }

    /// How often it ran.
    pub(crate) fn calls(&self) -> u64 {
        self.table.values().map(|it| it.calls).sum()
    }

    /// Device time in all.
    pub(crate) fn total(&self) -> Ns {
        self.launched.values().copied().sum()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Fixture, check_text};
    use crate::{RunKnowledge, View, ViewMetric, hover, lenses};

    const KERNELS: &str = "\
@triton.autotune(configs=[], key=[])
@triton.jit
def scaled_add(x, y, out):
    tl.store(out, tl.load(x) + tl.load(y))

@triton.jit
def part(x):
    return x

@other.jit
def relu(x):
    return x

def run(x, y, out):
    scaled_add[(64,)](x, y, out)
    relu(x)
";

    const BOOKS: &str = "\
step 1 10ms
step 2 10ms
15 fn=run cuda=2ms cuda_total=2ms kernels=4 kernel=scaled_add
16 fn=run cuda=1ms cuda_total=1ms kernels=2 kernel=relu
";

    fn text(line: u32) -> String {
        let fixture = Fixture::new(KERNELS, BOOKS);
        let shown = hover(&fixture.source(), &View::default(), RunKnowledge::default(), line);
        shown.map_or("nothing\n".to_owned(), |it| it.text.markdown() + "\n")
    }

    #[test]
    fn a_kernel_has_a_lens_on_its_function() {
        let titles = |view: &View| {
            let fixture = Fixture::new(KERNELS, BOOKS);
            let lenses = lenses(&fixture.source(), view).into_iter();
            lenses.map(|it| format!("{} {} {:?}", it.line, it.title, it.lines)).collect::<Vec<_>>()
        };
        let of_kernel =
            "3 scaled_add: Triton kernel · 20 % of the step · 2 ms gpu · 4 × 500 µs 1..=4";
        assert_eq!(titles(&View::default())[0], of_kernel);
        let high = View { threshold: 0.25, ..View::default() };
        assert!(!titles(&high).iter().any(|it| it.contains("Triton")), "below the threshold");
        let memory = View { metric: Some(ViewMetric::Memory), ..View::default() };
        assert_eq!(titles(&memory), [""; 0]);
    }

    #[test]
    fn a_kernel_names_the_lines_that_launch_it() {
        check_text(
            &text(3),
            "
            **train.py:3** · `scaled_add`

            | kernel       | calls | total |   mean |    max | grid × block | occupancy |
            | :----------- | ----: | ----: | -----: | -----: | -----------: | --------: |
            | `scaled_add` |     4 |  2 ms | 500 µs | 200 µs |     64 × 128 |    62.5 % |

            Launched from line 15 (2 ms).

            On lines: 100 % of CUDA time.
            ",
        );
        check_text(&text(7), "nothing");
        check_text(&text(11), "nothing");
    }

    #[test]
    fn a_line_that_launches_a_kernel_says_where_that_is() {
        let is_said =
            |line| text(line).contains("`scaled_add` is the Triton kernel on lines 3 to 4.");
        assert!(is_said(15) && !is_said(16), "{}", text(15));
    }
}
