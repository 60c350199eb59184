//! What a line launched, by class and name.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ledger::{Kernel, KernelClass, KernelKey, Ns};

use crate::scale::ViewScale;
use crate::view::ViewMetric;

/// The launches of one kernel from a line, whatever their sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedKernel<'a> {
    /// Its name, and the sizes that took most time.
    pub(crate) key: &'a KernelKey,
    /// How many sizes it was launched with.
    pub(crate) shapes: usize,
    /// All of its runs.
    pub(crate) sum: Kernel,
}

/// A row for each name. Those of a class are together: first the class that the metric is about, then that with most time, in it
/// the kernel with most time.
pub(crate) fn named_kernels<'a>(
    scale: &ViewScale<'_>,
    table: &'a BTreeMap<KernelKey, Kernel>,
) -> Vec<NamedKernel<'a>> {
    let mut rows: Vec<NamedKernel<'a>> = Vec::new();
    let mut most = Ns::ZERO;
    // The sizes of a name follow each other.
    for (key, kernel) in table {
        match rows.last_mut().filter(|row| row.key.name == key.name) {
            Some(row) => {
                row.shapes += 1;
                row.sum.merge(kernel);
                if most < kernel.total {
                    (row.key, most) = (key, kernel.total);
                }
            }
            None => {
                rows.push(NamedKernel { key, shapes: 1, sum: kernel.clone() });
                most = kernel.total;
            }
        }
    }
    let mut of_class: BTreeMap<KernelClass, Ns> = BTreeMap::new();
    rows.iter().for_each(|row| *of_class.entry(row.sum.class).or_default() += row.sum.total);
    let is_asked_for =
        |class| scale.metric == ViewMetric::Communication && class == KernelClass::Communication;
    rows.sort_by_key(|row| {
        let class = row.sum.class;
        let time = of_class.get(&class).copied().unwrap_or_default();
        let order = (Reverse(is_asked_for(class)), Reverse(time), class);
        (order, Reverse(row.sum.total), row.key)
    });
    rows
}

/// What the kernels of a class are called, one of them.
pub(crate) fn class_title(class: KernelClass) -> &'static str {
    match class {
        KernelClass::Compute => "kernel",
        KernelClass::Communication => "collective",
        KernelClass::Memory => "copy or fill",
    }
}

/// The occupancy (of 1) of a kernel, weighted by duration; 0 where the recording does not say.
pub(crate) fn occupancy(kernel: &Kernel) -> f64 {
    // Kept in tenths of a percent.
    kernel.occupancy_time as f64 / kernel.total.max(Ns(1)).as_f64() / 1000.0
}

#[cfg(test)]
mod tests {
    use ledger::Ledger;

    use super::*;
    use crate::view::View;

    #[test]
    fn the_sizes_of_a_kernel_are_one_row_and_classes_stand_together() {
        let row = |name: &str, blocks: u32, total: i64, class: KernelClass| {
            let key = KernelKey { name: name.to_owned(), grid: [blocks, 1, 1], block: [128, 1, 1] };
            let (min, max) = (Ns(total), Ns(total));
            (key, Kernel { calls: 1, total: Ns(total), min, max, class, ..Kernel::default() })
        };
        let table = [
            row("add", 1, 3, KernelClass::Compute),
            row("add", 8, 9, KernelClass::Compute),
            row("add", 64, 5, KernelClass::Compute),
            row("mul", 1, 10, KernelClass::Compute),
            row("ncclDevKernel_AllReduce", 4, 12, KernelClass::Communication),
            row("Memcpy HtoD", 0, 14, KernelClass::Memory),
        ];
        let table = table.into();
        let shown = |metric| {
            let view = View { metric: Some(metric), ..View::default() };
            let ledger = Ledger::default();
            let rows = named_kernels(&ViewScale::new(&ledger, &view), &table);
            let text = |it: &NamedKernel<'_>| {
                let Kernel { calls, total, min, max, .. } = it.sum;
                let [blocks, ..] = it.key.grid;
                format!(
                    "{} {} {blocks} of {}: {calls} {} {} {}",
                    class_title(it.sum.class),
                    it.key.name,
                    it.shapes,
                    total.0,
                    min.0,
                    max.0
                )
            };
            rows.iter().map(text).collect::<Vec<_>>()
        };
        let add = "kernel add 8 of 3: 3 17 3 9";
        let mul = "kernel mul 1 of 1: 1 10 10 10";
        let copy = "copy or fill Memcpy HtoD 0 of 1: 1 14 14 14";
        let collective = "collective ncclDevKernel_AllReduce 4 of 1: 1 12 12 12";
        assert_eq!(shown(ViewMetric::Cuda), [add, mul, copy, collective]);
        assert_eq!(shown(ViewMetric::Communication), [collective, add, mul, copy]);
    }
}
