//! What the rules about the device found, in words.

use insights::{DeviceDetail, Finding, Product};
use ledger::{Evidence, Ns};

use crate::kernel_name::shorten;
use crate::numbers::{count, duration, percent};

/// What the finding says, as one line of text.
pub(crate) fn message(finding: &Finding, detail: &DeviceDetail) -> String {
    let per = Per(finding);
    let text = match *detail {
        DeviceDetail::HotLoop {
            iterations,
            time,
            sync,
            kernels,
            cuda,
            launch_time,
            launches,
            idle,
        } => {
            let busy = 1.0 - idle as f64 / time.max(1) as f64;
            let mut text = format!(
                "{} iterations{} launch {} kernels each; a kernel runs {}, the CPU takes {} for one",
                per.number(iterations),
                per.step(),
                count(mean(kernels, iterations)),
                duration(mean(cuda, kernels)),
                duration(mean((time - sync).max(0), kernels)),
            );
            if launches > 0 {
                let call = duration(mean(launch_time, launches));
                text += &format!(" ({call} of it in the call that launches it)");
            }
            text + &format!(
                "; the GPU is busy {} of the loop and idles {}{}",
                percent(busy.clamp(0.0, 1.0)),
                per.cost(),
                per.step()
            )
        }
        DeviceDetail::LaunchBound { kernels, cuda, host, short } => {
            let mut text = format!(
                "{} kernels{} run {} each, and the CPU takes {} for one",
                per.number(kernels),
                per.step(),
                duration(mean(cuda, kernels)),
                duration(mean(host, kernels)),
            );
            if short > 0 {
                let share = percent(mean(short as Ns, kernels));
                text += &format!("; {share} are over sooner than the call that launches them");
            }
            text + &format!("; the GPU waits {}{} for launches here", per.cost(), per.step())
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
            let whole = (host + kernel + other).max(1) as f64;
            let told = causes.iter().filter(|(time, _)| 0.05 <= *time as f64 / whole);
            let told: Vec<String> = told
                .map(|(time, cause)| match 0.995 <= *time as f64 / whole {
                    true => (*cause).to_owned(),
                    false => format!("{} {cause}", percent(*time as f64 / whole)),
                })
                .collect();
            format!(
                "the GPU idles {}{} while the CPU is {place}: {}",
                per.cost(),
                per.step(),
                told.join(", ")
            )
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
                "kernels that do not fill the GPU run {}{} here, {} with {fills}",
                per.cost(),
                per.step(),
                shorten(kernel)
            )
        }
        DeviceDetail::TensorCores { ref kernel, product, here } => {
            let what = match product {
                Product::Float32 => "matrix products in float32 without tensor cores",
                Product::Half => "matrix products in half precision without tensor cores",
                Product::Misaligned => "matrix products with sizes that are no multiples of 8",
            };
            let mut text = format!("{what} run {}{}", per.cost(), per.step());
            if here < finding.cost {
                text += &format!(", {} of it here", duration(per.amount(here)));
            }
            text + &format!(", as {}", shorten(kernel))
        }
        DeviceDetail::CommExposed { comm } => format!(
            "collectives run {}{} here, {} of it while nothing is computed",
            duration(per.amount(comm)),
            per.step(),
            per.cost()
        ),
        DeviceDetail::FirstStep { number, first, median, here } => {
            return format!(
                "{}: step {number} is the first and takes {}, the others {} (median); {} of the difference is CPU time of this \
                 line",
                finding.rule,
                duration(first as f64),
                duration(median as f64),
                duration(here as f64)
            );
        }
    };
    let of = if finding.cost_per_step.is_some() { "of the step" } else { "of the recording" };
    format!("{}: {text} ({} {of})", finding.rule, percent(finding.share))
}

fn mean(sum: impl TryInto<i64>, of: u64) -> f64 {
    sum.try_into().unwrap_or(i64::MAX) as f64 / of.max(1) as f64
}

/// Means over the steps, or sums where the recording has none.
struct Per<'a>(&'a Finding);

impl Per<'_> {
    fn amount(&self, sum: Ns) -> f64 {
        if self.0.steps == 0 { sum as f64 } else { sum as f64 / self.0.steps as f64 }
    }

    fn number(&self, sum: u64) -> String {
        count(self.amount(Ns::try_from(sum).unwrap_or(Ns::MAX)))
    }

    fn step(&self) -> &'static str {
        if self.0.steps == 0 { "" } else { " per step" }
    }

    fn cost(&self) -> String {
        duration(self.0.cost_per_step.unwrap_or(self.0.cost) as f64)
    }
}
