//! What stands beside `traceEvents`.

use profile::{Bytes, DeviceProperties, Meta, Ns, RankGroup, WarningKind, Warnings};

use crate::event::Values;
use crate::scan::{self, Scan};
use crate::set_aside::TIMES;
use crate::template::Members;

/// Keys that only a trace has.
const KEYS: [&[u8]; 7] = [
    b"traceEvents",
    b"traceName",
    b"schemaVersion",
    b"displayTimeUnit",
    b"baseTimeNanoseconds",
    b"deviceProperties",
    b"distributedInfo",
];

/// Whether a key of the outermost object says that this is a trace.
pub(crate) fn is_key_of_trace(key: &[u8]) -> bool {
    KEYS.contains(&key)
}

/// Takes over the value of `key`, which is whole in `buf`. `offset` is where the buffer begins in the input.
pub(crate) fn read(
    key: &[u8],
    buf: &[u8],
    at: usize,
    meta: &mut Meta,
    offset: u64,
    warnings: &mut Warnings,
) {
    let mut anomalies = Vec::new();
    // A value that was skipped whole ends, so the only surprise left is a damaged inside: what came before it counts.
    if read_value(key, &mut Values { buf, at, anomalies: &mut anomalies }, meta).is_err() {
        anomalies.push((
            WarningKind::Malformed,
            at,
            "a part of what stands beside the events could not be read",
        ));
    }
    for (kind, at, message) in anomalies {
        warnings.add(kind, offset + at as u64, message);
    }
}

fn read_value(key: &[u8], values: &mut Values<'_, '_>, meta: &mut Meta) -> Scan<()> {
    match key {
        b"baseTimeNanoseconds" => {
            let at = values.at;
            let base = Ns(values.number(0)?.unwrap_or(0));
            let is_credible = (Ns::ZERO..TIMES.end).contains(&base);
            meta.base = if is_credible { base } else { Ns::ZERO };
            if !is_credible {
                let message = "a base time before 1970 or after 2116 was ignored";
                values.anomalies.push((WarningKind::NotCredible, at, message));
            }
        }
        b"distributedInfo" => each_member(values, |key, values| {
            match key {
                b"rank" => meta.rank = values.number(0)?.and_then(|it| u32::try_from(it).ok()),
                b"world_size" => {
                    meta.world_size = values.number(0)?.and_then(|it| u32::try_from(it).ok());
                }
                b"pg_config" => groups(values, &mut meta.groups)?,
                _ => values.skip()?,
            }
            Ok(())
        })?,
        b"profile_memory" => {
            meta.has_memory = matches!(scan::byte(values.buf, values.at)?, b'1'..=b'9');
        }
        b"host_name" => meta.host = decoded(values)?,
        b"deviceProperties" => devices(values, &mut meta.devices)?,
        _ => {}
    }
    Ok(())
}

fn groups(values: &mut Values<'_, '_>, groups: &mut Vec<RankGroup>) -> Scan<()> {
    groups.clear();
    each_item(values, |values| {
        let mut group = RankGroup::default();
        let result = each_member(values, |key, values| {
            match key {
                b"pg_name" => group.name = decoded(values)?,
                b"pg_desc" => group.description = decoded(values)?,
                b"ranks" => each_item(values, |values| {
                    group.ranks.extend(values.number(0)?.and_then(|it| u32::try_from(it).ok()));
                    Ok(())
                })?,
                _ => values.skip()?,
            }
            Ok(())
        });
        groups.push(group);
        result
    })
}

fn devices(values: &mut Values<'_, '_>, devices: &mut Vec<DeviceProperties>) -> Scan<()> {
    devices.clear();
    each_item(values, |values| {
        let mut device = DeviceProperties::default();
        let result = each_member(values, |key, values| device_member(key, values, &mut device));
        devices.push(device);
        result
    })
}

/// Hands each item of the array at hand to `read`, which must move past it; skips anything else.
fn each_item<'a, 'b>(
    values: &mut Values<'a, 'b>,
    mut read: impl FnMut(&mut Values<'a, 'b>) -> Scan<()>,
) -> Scan<()> {
    if scan::byte(values.buf, values.at)? != b'[' {
        return values.skip();
    }
    values.at += 1;
    loop {
        let (byte, at) = scan::significant(values.buf, values.at)?;
        values.at = at;
        match byte {
            b']' => {
                values.at += 1;
                return Ok(());
            }
            b',' => values.at += 1,
            _ => {
                let before = values.at;
                read(values)?;
                // What is no value is passed over.
                values.at = values.at.max(before + 1);
            }
        }
    }
}

fn device_member(
    key: &[u8],
    values: &mut Values<'_, '_>,
    device: &mut DeviceProperties,
) -> Scan<()> {
    match key {
        b"id" => device.id = narrow(values)?,
        b"name" => device.name = decoded(values)?,
        b"totalGlobalMem" => device.total_memory = Bytes(narrow(values)?),
        b"computeMajor" => device.compute_major = narrow(values)?,
        b"computeMinor" => device.compute_minor = narrow(values)?,
        b"numSms" => device.multiprocessors = narrow(values)?,
        _ => values.skip()?,
    }
    Ok(())
}

/// Hands each member of the object at hand to `read`, which must move past its value; skips anything else.
pub(crate) fn each_member<'a, 'b>(
    values: &mut Values<'a, 'b>,
    mut read: impl FnMut(&'a [u8], &mut Values<'a, 'b>) -> Scan<()>,
) -> Scan<()> {
    if scan::byte(values.buf, values.at)? != b'{' {
        return values.skip();
    }
    let mut members = Members::of(values.buf, values.at);
    while let Some((key, at)) = members.next_key()? {
        values.at = at;
        read(key, values)?;
        members.at = values.at;
    }
    values.at = members.at;
    Ok(())
}

fn decoded(values: &mut Values<'_, '_>) -> Scan<String> {
    let text = values.text()?;
    Ok(crate::text::decode(&text).text.into_owned())
}

fn narrow<T: TryFrom<i64> + Default>(values: &mut Values<'_, '_>) -> Scan<T> {
    Ok(values.number(0)?.and_then(|it| T::try_from(it).ok()).unwrap_or_default())
}
