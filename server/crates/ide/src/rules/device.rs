//! What the rules about the device found, in words.

use std::collections::BTreeSet;

use insights::{DeviceDetail, Finding, Product};
use ledger::{Evidence, Ns, ProductSizes};
use metrics::numbers::{count, duration, percent};

use super::{per, share, time};
use ledger::shorten_kernel_name;

/// What the finding says, as one line of text.
pub(crate) fn message(finding: &Finding, detail: &DeviceDetail) -> String {
    let per_step = if finding.steps == 0 { "" } else { " per step" };
    let number = |sum: u64| count(per(finding, sum as f64));
    let cost = time(finding, finding.cost);
    let text = match *detail {
        DeviceDetail::HotLoop {
            iterations,
            time: in_loop,
            sync,
            kernels,
            cuda,
            launch_time,
            launches,
            idle,
        } => {
            let busy = 1.0 - idle.as_f64() / in_loop.max(Ns(1)).as_f64();
            let mut text = format!(
                "{} iterations{per_step} launch {} kernels each; a kernel runs {}, the CPU takes {} for one",
                number(iterations),
                count(mean(kernels as f64, iterations)),
                duration(mean(cuda.as_f64(), kernels)),
                duration(mean((in_loop - sync).max(Ns::ZERO).as_f64(), kernels)),
            );
            if launches > 0 {
                let call = duration(mean(launch_time.as_f64(), launches));
                text += &format!(" ({call} of it in the call that launches it)");
            }
            text + &format!(
                "; the GPU is busy {} of the loop and idles {cost}",
                percent(busy.clamp(0.0, 1.0)),
            )
        }
        DeviceDetail::LaunchBound { kernels, cuda, host, short } => {
            let mut text = format!(
                "{} kernels{per_step} run {} each, and the CPU takes {} for one",
                number(kernels),
                duration(mean(cuda.as_f64(), kernels)),
                duration(mean(host.as_f64(), kernels)),
            );
            if short > 0 {
                let share = percent(mean(short as f64, kernels));
                text += &format!("; {share} are over sooner than the call that launches them");
            }
            text + &format!("; the GPU waits {cost} for launches here")
        }
        DeviceDetail::GpuIdle { host, kernel, other } => {
            let place = match finding.evidence {
                Evidence::Function => "in this function",
                Evidence::Exact | Evidence::Inferred => "here",
            };
            let causes = [
                (host, "with nothing launched"),
                (kernel, "between kernels"),
                (other, "with launched work that waits for something else"),
            ];
            let whole = (host + kernel + other).max(Ns(1)).as_f64();
            let reported = causes.iter().filter(|(time, _)| 0.05 <= time.as_f64() / whole);
            let reported: Vec<String> = reported
                .map(|(time, cause)| match 0.995 <= time.as_f64() / whole {
                    true => (*cause).to_owned(),
                    false => format!("{} {cause}", percent(time.as_f64() / whole)),
                })
                .collect();
            format!("the GPU idles {cost} while the CPU is {place}: {}", reported.join(", "))
        }
        DeviceDetail::LowOccupancy { ref kernel, blocks, multiprocessors, occupancy } => {
            let fills = if blocks < u64::from(multiprocessors) {
                let blocks =
                    if blocks == 1 { "1 block".to_owned() } else { format!("{blocks} blocks") };
                format!("{blocks} on {multiprocessors} multiprocessors")
            } else {
                format!("an occupancy of {}", percent(f64::from(occupancy) / 1000.0))
            };
            format!(
                "kernels that do not fill the GPU run {cost} here, {} with {fills}",
                shorten_kernel_name(kernel)
            )
        }
        DeviceDetail::TensorCores { ref kernel, product, here, sizes } => {
            let what = match product {
                Product::Float32 => "matrix products in float32 without tensor cores",
                Product::Half => "matrix products in half precision without tensor cores",
                Product::Misaligned => {
                    "matrix products on tensor cores with sizes that are no multiples of 8"
                }
            };
            let mut text = format!("{what} run {cost}");
            if here < finding.cost {
                text += &format!(", {} of it here", duration(per(finding, here.as_f64())));
            }
            text += &format!(", as {}", shorten_kernel_name(kernel));
            if let Some(ProductSizes { batch, m, n, k }) = sizes {
                let unaligned: BTreeSet<u64> =
                    [m, n, k].into_iter().filter(|it| it % 8 != 0).collect();
                let unaligned: Vec<String> = unaligned.iter().map(u64::to_string).collect();
                let times = if batch == 1 { String::new() } else { format!("{batch} × ") };
                text += &format!(
                    " for {times}[{m}, {k}] @ [{k}, {n}], where {} {} not",
                    unaligned.join(" and "),
                    if unaligned.len() == 1 { "is" } else { "are" }
                );
            }
            text
        }
        DeviceDetail::CommExposed { comm, wait } => {
            let text = format!(
                "collectives run {} here, {} of it while nothing is computed",
                time(finding, comm),
                duration(per(finding, finding.cost.as_f64()))
            );
            let wait = wait.map(|it| duration(per(finding, it.as_f64())));
            wait.map_or(text.clone(), |it| format!("{text}; {it} of it is waiting for other ranks"))
        }
        DeviceDetail::FirstStep { number, first, median, here } => {
            return format!(
                "{}: step {number} is the first and takes {}, the others {} (median); {} of the difference is CPU time of this \
                 line",
                finding.rule,
                duration(first.as_f64()),
                duration(median.as_f64()),
                duration(here.as_f64())
            );
        }
        DeviceDetail::ReplayedGraph => format!(
            "kernels of CUDA graphs run {cost} here, and nothing says which lines launched them"
        ),
    };
    format!("{}: {text}{}", finding.rule, share(finding))
}

fn mean(sum: f64, of: u64) -> f64 {
    sum / of.max(1) as f64
}

#[cfg(test)]
mod tests {
    use insights::{Detail, Severity};
    use ledger::LineKey;

    use super::*;

    /// The message of a finding that costs 20 of 200 µs in each of two steps.
    fn said(detail: DeviceDetail, evidence: Evidence, steps: u64) -> String {
        let finding = Finding {
            rule: "rule",
            place: LineKey { file: "train.py".to_owned(), line: 3 },
            function: "step".to_owned(),
            evidence,
            severity: Severity::Information,
            cost: Ns(40_000),
            cost_per_step: (steps > 0).then_some(Ns(20_000)),
            count: 0,
            steps,
            share: 0.1,
            detail: Detail::Device(detail.clone()),
            related: Vec::new(),
            remedy: "",
        };
        message(&finding, &detail)
    }

    #[test]
    fn messages() {
        let kernel = || "void at::native::reduce_kernel<512, 1>(int)".to_owned();
        let rows = [
            (
                DeviceDetail::HotLoop {
                    iterations: 20,
                    time: Ns(90_000),
                    sync: Ns(10_000),
                    kernels: 80,
                    cuda: Ns(24_000),
                    launch_time: Ns(32_000),
                    launches: 80,
                    idle: Ns(45_000),
                },
                "rule: 10 iterations per step launch 4 kernels each; a kernel runs 300 ns, the CPU takes 1 µs for one (400 ns of it in \
                 the call that launches it); the GPU is busy 50 % of the loop and idles 20 µs per step (10 % of the step)",
            ),
            (
                DeviceDetail::LaunchBound {
                    kernels: 80,
                    cuda: Ns(24_000),
                    host: Ns(80_000),
                    short: 60,
                },
                "rule: 40 kernels per step run 300 ns each, and the CPU takes 1 µs for one; 75 % are over sooner than the call that \
                 launches them; the GPU waits 20 µs per step for launches here (10 % of the step)",
            ),
            (
                DeviceDetail::GpuIdle { host: Ns(30_000), kernel: Ns(9_000), other: Ns(1_000) },
                "rule: the GPU idles 20 µs per step while the CPU is here: 75 % with nothing launched, 22.5 % between kernels (10 % of \
                 the step)",
            ),
            (
                DeviceDetail::LowOccupancy {
                    kernel: kernel(),
                    blocks: 1,
                    multiprocessors: 80,
                    occupancy: 20,
                },
                "rule: kernels that do not fill the GPU run 20 µs per step here, reduce_kernel with 1 block on 80 multiprocessors (10 % \
                 of the step)",
            ),
            (
                DeviceDetail::LowOccupancy {
                    kernel: kernel(),
                    blocks: 90,
                    multiprocessors: 80,
                    occupancy: 20,
                },
                "rule: kernels that do not fill the GPU run 20 µs per step here, reduce_kernel with an occupancy of 2 % (10 % of the \
                 step)",
            ),
            (
                DeviceDetail::TensorCores {
                    kernel: "ampere_sgemm_128x64_nn".to_owned(),
                    product: Product::Float32,
                    here: Ns(10_000),
                    sizes: None,
                },
                "rule: matrix products in float32 without tensor cores run 20 µs per step, 5 µs of it here, as \
                 ampere_sgemm_128x64_nn (10 % of the step)",
            ),
            (
                DeviceDetail::TensorCores {
                    kernel: "cutlass_75_tensorop_bf16_s1688gemm_bf16_align1".to_owned(),
                    product: Product::Misaligned,
                    here: Ns(40_000),
                    sizes: Some(ProductSizes { batch: 12, m: 3601, n: 3601, k: 64 }),
                },
                "rule: matrix products on tensor cores with sizes that are no multiples of 8 run 20 µs per step, as \
                 cutlass_75_tensorop_bf16_s1688gemm_bf16_align1 for 12 × [3601, 64] @ [64, 3601], where 3601 is not (10 % of the step)",
            ),
            (
                DeviceDetail::CommExposed { comm: Ns(50_000), wait: None },
                "rule: collectives run 25 µs per step here, 20 µs of it while nothing is computed (10 % of the step)",
            ),
            (
                DeviceDetail::FirstStep {
                    number: 4,
                    first: Ns(280_000),
                    median: Ns(200_000),
                    here: Ns(60_000),
                },
                "rule: step 4 is the first and takes 280 µs, the others 200 µs (median); 60 µs of the difference is CPU time of this line",
            ),
            (
                DeviceDetail::ReplayedGraph,
                "rule: kernels of CUDA graphs run 20 µs per step here, and nothing says which lines launched them (10 % of the step)",
            ),
        ];
        for (detail, expected) in rows {
            assert_eq!(said(detail, Evidence::Exact, 2), expected);
        }
        let idle = DeviceDetail::GpuIdle { host: Ns(40_000), kernel: Ns(0), other: Ns(0) };
        assert_eq!(
            said(idle, Evidence::Function, 0),
            "rule: the GPU idles 40 µs while the CPU is in this function: with nothing launched (10 % of the recording)"
        );
    }
}
