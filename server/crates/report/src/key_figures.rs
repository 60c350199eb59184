//! The numbers to look at first.

use ledger::{DeviceOverview, Ns};
use loader::Run;
use metrics::numbers::{duration, percent};
use metrics::{Period, Scale};

use crate::model::Figure;

/// Those that the recording has. Shares of several devices are their means.
pub(crate) fn of(run: &Run, scale: &Scale<'_>) -> Vec<Figure> {
    let overviews = || run.merged.overviews.values();
    let devices: Vec<_> =
        overviews().flat_map(|it| it.devices.values()).filter(|it| it.kernels != 0).collect();
    let mean = |share: fn(&DeviceOverview) -> Option<f64>| {
        let known: Vec<f64> = devices.iter().filter_map(|it| share(it)).collect();
        let sum: f64 = known.iter().sum();
        (!known.is_empty()).then(|| percent(sum / known.len() as f64))
    };
    let exposed = |it: &DeviceOverview| {
        let part = it.exposed_communication.as_f64() / it.span.max(Ns(1)).as_f64();
        (it.communication != Ns::ZERO).then_some(part)
    };
    let of_peak = |it: &DeviceOverview| {
        let rates = it.arithmetic.iter().filter_map(|(&precision, work)| {
            let share = work.peak_share(precision, it.peak.as_ref()?)?;
            Some((share * work.time.as_f64(), work.time.as_f64()))
        });
        let (done, time) = rates.fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
        (0.0 < time).then(|| done / time)
    };
    let step = (scale.period() == Period::Mean).then(|| duration(scale.time()));
    let figures = [
        ("mean step", step),
        ("kernels run", mean(DeviceOverview::utilisation)),
        ("SM efficiency", mean(DeviceOverview::multiprocessor_efficiency)),
        ("occupancy", mean(DeviceOverview::occupancy)),
        ("on tensor cores", mean(DeviceOverview::tensor_core_share)),
        ("of peak FLOP/s", mean(of_peak)),
        ("exposed communication", mean(exposed)),
    ];
    let known = figures.into_iter().filter_map(|(name, text)| Some(Figure { name, text: text? }));
    known.collect()
}
