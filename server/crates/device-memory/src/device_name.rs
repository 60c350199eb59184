//! How memories are named.

use profile::MemoryDevice;

/// `cpu`, `cuda:0`: names as in PyTorch (`c10::DeviceType`).
pub(crate) fn device_name(device: MemoryDevice) -> String {
    let kind = match device.kind.0 {
        0 => return "cpu".to_owned(),
        1 => "cuda",
        6 => "hip",
        12 => "xpu",
        13 => "mps",
        19 => "mtia",
        20 => "privateuse1",
        _ => return format!("device{}:{}", device.kind.0, device.ordinal),
    };
    format!("{kind}:{}", device.ordinal)
}
