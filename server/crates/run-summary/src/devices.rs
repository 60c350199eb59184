//! What devices can do at most: a table from data sheets, to be kept up with what is sold.

use ledger::DevicePeak;

/// A device, by a part of its name.
struct DeviceModel {
    /// Part of the name as CUDA or HIP shows it; the first row that fits counts.
    name: &'static str,
    /// Multiprocessors, or compute units.
    multiprocessors: u32,
    /// Tenths of TFLOP/s, dense: float64, float32, TF32, float16, float8; 0 where it has none. Tensor (matrix) cores
    /// where there are such, but for float32. Of GeForce cards, with float32 accumulation.
    rates: [u32; 5],
    /// GB/s of its memory.
    bandwidth: u32,
    /// Where the numbers stand.
    source: &'static str,
}

#[rustfmt::skip]
const DEVICES: &[DeviceModel] = &[
    // name                      SMs  [ f64,  f32,  tf32,   f16,    f8]  GB/s  source
    row("GB200",                 152, [ 400,  800, 12500, 25000, 50000], 8000, "NVIDIA GB200 NVL72 data sheet"),
    row("B200",                  148, [ 370,  750, 11250, 22500, 45000], 8000, "NVIDIA Blackwell architecture brief, HGX B200"),
    row("GH200",                 132, [ 670,  670,  4947,  9895, 19790], 4000, "NVIDIA GH200 data sheet, HBM3"),
    row("H200 NVL",              132, [ 600,  600,  4175,  8355, 16705], 4800, "NVIDIA H200 data sheet"),
    row("H200",                  132, [ 670,  670,  4947,  9895, 19790], 4800, "NVIDIA H200 data sheet"),
    row("H100 NVL",              132, [ 600,  600,  4175,  8355, 16705], 3900, "NVIDIA H100 data sheet"),
    row("H100 PCIe",             114, [ 510,  510,  3780,  7560, 15130], 2000, "NVIDIA H100 data sheet"),
    row("H100",                  132, [ 670,  670,  4947,  9895, 19790], 3350, "NVIDIA H100 data sheet, SXM"),
    row("H800",                  132, [  10,  670,  4947,  9895, 19790], 3350, "NVIDIA H800 data sheet, SXM"),
    row("H20",                    78, [  10,  440,   740,  1480,  2960], 4000, "NVIDIA H20 data sheet"),
    row("A100 80GB PCIe",        108, [ 195,  195,  1560,  3120,     0], 1935, "NVIDIA A100 data sheet"),
    row("A100-SXM4-80GB",        108, [ 195,  195,  1560,  3120,     0], 2039, "NVIDIA A100 data sheet"),
    row("A100",                  108, [ 195,  195,  1560,  3120,     0], 1555, "NVIDIA A100 data sheet, 40 GB"),
    row("A800",                  108, [ 195,  195,  1560,  3120,     0], 2039, "NVIDIA A800 data sheet, 80 GB SXM"),
    row("A30",                    56, [ 103,  103,   820,  1650,     0],  933, "NVIDIA A30 data sheet"),
    row("A40",                    84, [   0,  374,   748,  1497,     0],  696, "NVIDIA A40 data sheet"),
    row("V100S",                  80, [  82,  164,     0,  1300,     0], 1134, "NVIDIA V100 data sheet, V100S PCIe"),
    row("V100-PCIE",              80, [  70,  140,     0,  1120,     0],  900, "NVIDIA V100 data sheet, PCIe"),
    row("V100",                   80, [  78,  157,     0,  1250,     0],  900, "NVIDIA V100 data sheet, SXM2"),
    row("L40S",                  142, [   0,  916,  1830,  3620,  7330],  864, "NVIDIA L40S data sheet"),
    row("L40",                   142, [   0,  905,   905,  1810,  3620],  864, "NVIDIA L40 data sheet"),
    row("L4",                     58, [   0,  303,   600,  1210,  2425],  300, "NVIDIA L4 data sheet"),
    row("T4",                     40, [   0,   81,     0,   650,     0],  320, "NVIDIA T4 data sheet"),
    row("RTX 6000 Ada",          142, [   0,  911,  1821,  3642,  7285],  960, "NVIDIA RTX 6000 Ada data sheet"),
    row("RTX A6000",              84, [   0,  387,   774,  1548,     0],  768, "NVIDIA RTX A6000 data sheet"),
    row("RTX A5000",              64, [   0,  278,   556,  1111,     0],  768, "NVIDIA RTX A5000 data sheet"),
    row("A10",                    72, [   0,  312,   625,  1250,     0],  600, "NVIDIA A10 data sheet"),
    row("RTX 5090",              170, [   0, 1048,  1048,  2095,  4190], 1792, "NVIDIA RTX Blackwell architecture paper"),
    row("RTX 5080",               84, [   0,  563,   563,  1126,  2251],  960, "NVIDIA RTX Blackwell architecture paper"),
    row("RTX 4090",              128, [   0,  826,   826,  1652,  3303], 1008, "NVIDIA Ada architecture paper"),
    row("RTX 4080",               76, [   0,  487,   487,   975,  1949],  717, "NVIDIA Ada architecture paper"),
    row("RTX 4070 Ti",            60, [   0,  401,   401,   802,  1604],  504, "NVIDIA Ada architecture paper"),
    row("RTX 3090 Ti",            84, [   0,  400,   400,   800,     0], 1008, "NVIDIA Ampere GA102 architecture paper"),
    row("RTX 3090",               82, [   0,  356,   356,   710,     0],  936, "NVIDIA Ampere GA102 architecture paper"),
    row("RTX 3080",               68, [   0,  298,   298,   595,     0],  760, "NVIDIA Ampere GA102 architecture paper"),
    row("RTX 3070",               46, [   0,  203,   203,   406,     0],  448, "NVIDIA Ampere GA102 architecture paper"),
    // One HIP device is half a card of the MI200 series.
    row("MI250X",                110, [ 479,  239,     0,  1915,     0], 1638, "AMD MI250X data sheet, per die"),
    row("MI250",                 104, [ 452,  226,     0,  1810,     0], 1638, "AMD MI250 data sheet, per die"),
    row("MI210",                 104, [ 453,  226,     0,  1810,     0], 1638, "AMD MI210 data sheet"),
    row("MI300X",                304, [1634, 1634,  6537, 13074, 26149], 5300, "AMD MI300X data sheet"),
    row("MI300A",                228, [1226, 1226,  4903,  9806, 19612], 5300, "AMD MI300A data sheet"),
    row("MI325X",                304, [1634, 1634,  6537, 13074, 26149], 6000, "AMD MI325X data sheet"),
    row("MI355X",                256, [ 786, 1573,     0, 25166, 50332], 8000, "AMD MI355X data sheet"),
];

const fn row(
    name: &'static str,
    multiprocessors: u32,
    rates: [u32; 5],
    bandwidth: u32,
    source: &'static str,
) -> DeviceModel {
    DeviceModel { name, multiprocessors, rates, bandwidth, source }
}

/// What the device `name` can do, and how many multiprocessors it has (0 where the table does not say), with where that
/// is from.
pub(crate) fn peak(name: &str) -> Option<(DevicePeak, u32, &'static str)> {
    let device = DEVICES.iter().find(|it| is_word_in(it.name, name))?;
    let [f64, f32, tf32, f16, f8] = device.rates.map(|it| u64::from(it) * 100_000_000_000);
    let bandwidth = u64::from(device.bandwidth) * 1_000_000_000;
    Some((DevicePeak { f64, f32, tf32, f16, f8, bandwidth }, device.multiprocessors, device.source))
}

/// Whether `part` stands in `name` and no letter or digit goes on with it: `L4` is not in `NVIDIA L40`.
fn is_word_in(part: &str, name: &str) -> bool {
    name.match_indices(part).any(|(at, _)| {
        let is_open = |it: Option<char>| it.is_none_or(|it| !it.is_ascii_alphanumeric());
        is_open(name[..at].chars().next_back()) && is_open(name[at + part.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_well_formed() {
        for (index, device) in DEVICES.iter().enumerate() {
            let name = device.name;
            assert_eq!(
                DEVICES.iter().position(|it| is_word_in(it.name, name)),
                Some(index),
                "{name}"
            );
            let [f64, f32, tf32, f16, f8] = device.rates;
            assert!(0 < f32 && 0 < f16, "{name}");
            assert!(f32 <= f16 && (tf32 == 0 || (f32 <= tf32 && tf32 <= f16)), "{name}");
            assert!(f8 == 0 || f16 < f8, "{name}");
            assert!(f64 <= f16 && 0 < device.bandwidth, "{name}");
            assert!(!device.source.is_empty(), "{name}");
        }
    }

    #[test]
    fn names_as_recorded() {
        let source = |name| peak(name).map(|(_, _, source)| source);
        assert_eq!(source("NVIDIA H100 80GB HBM3"), Some("NVIDIA H100 data sheet, SXM"));
        assert_eq!(source("NVIDIA L40S"), Some("NVIDIA L40S data sheet"));
        assert_eq!(source("NVIDIA L4"), Some("NVIDIA L4 data sheet"));
        assert_eq!(source("Tesla V100-DGXS-32GB"), Some("NVIDIA V100 data sheet, SXM2"));
        assert_eq!(source("AMD Instinct MI300X VF"), Some("AMD MI300X data sheet"));
        assert_eq!(source("NVIDIA A100-PG509-200"), Some("NVIDIA A100 data sheet, 40 GB"));
        assert_eq!(source("Simulated GPU"), None);
        let (h100, multiprocessors, _) = peak("NVIDIA H100 80GB HBM3").unwrap();
        assert_eq!((h100.f16, h100.bandwidth), (989_500_000_000_000, 3_350_000_000_000));
        assert_eq!(multiprocessors, 132);
    }
}
