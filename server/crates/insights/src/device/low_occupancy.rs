//! Rule `low-occupancy`: kernels that leave most of the device empty.

use ledger::{Kernel, KernelClass, KernelKey, Ledger, LineBooks, Ns, TensorCores};
use metrics::Scale;

use super::common::{WARNING, finding, least_capable};
use super::detail::DeviceDetail;
use crate::costly::Costly;
use crate::rule::{Area, MINIMUM, Rule, RuleLimits, Threshold, ThresholdUnit};
use crate::{Detail, Finding, Severity};

/// The rule.
pub(super) static RULE: Rule = Rule {
    id: "low-occupancy",
    area: Area::Device,
    title: "Kernels leave most of the device empty",
    summary: "The kernels have blocks for a part of the multiprocessors only, or so few warps that it cannot hide its latencies.",
    severity: Severity::Information,
    trigger: "Kernels of the line run long enough to matter with blocks for a part of the multiprocessors only, or with an estimated \
              occupancy below the threshold. Matrix products and convolutions have a low occupancy by design and count only for their \
              blocks; collectives do not count.",
    measure: "Blocks and estimated achieved occupancy as PyTorch records them with each kernel; multiprocessors from the device properties of \
              the recording. The cost is the device time of these kernels.",
    thresholds: &[MINIMUM, WARNING, BLOCKS, OCCUPANCY, KERNEL],
    remedy: "Give each kernel more to do: larger batches, one batched operator instead of several small ones, a reduction over more \
             than one dimension at once. Work that is independent can run beside it on another stream.",
    before: "for row in x:\n    out.append(row.cumsum(0))",
    after: "out = x.cumsum(1)",
    sources: &[
        "[Kineto: how occupancy is estimated](https://github.com/pytorch/kineto/blob/main/libkineto/src/DeviceProperties.cpp)",
    ],
    limits: "The estimate knows the launch, not what the kernel does: some kernels are at their best with few warps. Kernels that run beside \
             others on another stream are reported all the same.",
    find,
};

const BLOCKS: Threshold = Threshold {
    name: "blocks",
    unit: ThresholdUnit::Percent,
    default: 50.0,
    meaning: "share of the multiprocessors for which a kernel has blocks, below which it is reported",
};

const OCCUPANCY: Threshold = Threshold {
    name: "occupancy",
    unit: ThresholdUnit::Percent,
    default: 10.0,
    meaning: "estimated occupancy below which a kernel is reported",
};

const KERNEL: Threshold = Threshold {
    name: "kernel",
    unit: ThresholdUnit::Micros,
    default: 20.0,
    meaning: "mean time of a kernel from which it counts: shorter ones are a matter of `launch-bound`",
};

fn find(ledger: &Ledger, scale: &Scale<'_>, limits: &RuleLimits<'_>) -> Vec<Finding> {
    let multiprocessors = least_capable(ledger).map_or(0, |(multiprocessors, _)| multiprocessors);
    let findings = ledger.lines.iter().filter_map(|(place, books)| {
        let kernels: Vec<_> = low_kernels(books, multiprocessors, limits).collect();
        let (worst, kernel) = kernels.iter().max_by_key(|(_, it)| it.total)?;
        let detail = DeviceDetail::LowOccupancy {
            kernel: worst.name.clone(),
            blocks: blocks(worst),
            multiprocessors,
            occupancy: u32::try_from(occupancy(kernel)).unwrap_or(0),
        };
        let cost: Ns = kernels.iter().map(|(_, it)| it.total).sum();
        let remedy = "Give each kernel more to do: larger batches, one batched operator instead of several small ones, a reduction over more \
             than one dimension at once.";
        let draft = Costly {
            count: kernels.iter().map(|(_, it)| it.calls).sum(),
            ..Costly::line(place, books, cost, Detail::Device(detail), remedy)
        };
        finding(&RULE, scale, limits, draft)
    });
    findings.collect()
}

/// Kernels of a line that do not fill a device with so many multiprocessors.
fn low_kernels<'a>(
    books: &'a LineBooks,
    multiprocessors: u32,
    limits: &RuleLimits<'_>,
) -> impl Iterator<Item = (&'a KernelKey, &'a Kernel)> {
    let (least, shortest) = (limits.get(&OCCUPANCY), limits.get(&KERNEL));
    let fewest = limits.get(&BLOCKS) * f64::from(multiprocessors);
    books.kernel_table.iter().filter(move |(key, kernel)| {
        let blocks = blocks(key);
        let is_product = kernel.tensor_cores != TensorCores::No || is_product(&key.name);
        let is_empty =
            !is_product && 0 < kernel.occupancy_time && (occupancy(kernel) as f64) < least * 1000.0;
        kernel.class == KernelClass::Compute
            && 0 < blocks
            && shortest * kernel.calls as f64 <= kernel.total.as_f64()
            && ((blocks as f64) < fewest || is_empty)
    })
}

/// Whether a kernel that uses no tensor cores is a matrix product or convolution all the same.
fn is_product(name: &str) -> bool {
    ["gemm", "gemv", "conv", "winograd", "fft", "flash", "fmha", "attention"]
        .iter()
        .any(|part| name.contains(part))
}

fn blocks(key: &KernelKey) -> u64 {
    key.grid.iter().fold(1, |blocks, &it| u64::saturating_mul(blocks, u64::from(it)))
}

/// Mean occupancy in tenths of a percent.
fn occupancy(kernel: &Kernel) -> i128 {
    kernel.occupancy_time / i128::from(kernel.total.max(Ns(1)))
}
