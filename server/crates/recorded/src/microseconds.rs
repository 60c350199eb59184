//! Recordings with times in whole microseconds, as torch up to 2.2 writes them.

use profile::{Ns, Profile};

/// What times are cut to there.
pub const MICROSECOND: Ns = Ns(1_000);

/// Whether all times of host events are whole microseconds.
#[must_use]
pub fn has_whole_microseconds(profile: &Profile) -> bool {
    let host = &profile.host;
    host.start.iter().chain(&host.duration).all(|time| time.0 % MICROSECOND.0 == 0)
}
