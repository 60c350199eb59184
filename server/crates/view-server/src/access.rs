//! Who may ask.

use std::io;

use hyper::HeaderMap;
use hyper::header::HOST;

/// Names of this machine for itself. Others stand in requests of a site whose name was made to lead here (DNS rebinding).
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// A key that nobody guesses: 128 random bits, in hexadecimal digits.
pub(crate) fn new_key() -> io::Result<String> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).map_err(io::Error::other)?;
    Ok(bits.iter().map(|it| format!("{it:02x}")).collect())
}

/// Whether a request is to this machine by a name of its own, over whichever port: that of a tunnel may be another.
pub(crate) fn is_to_this_machine(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let is_port = |it: &str| it.bytes().all(|byte| byte.is_ascii_digit());
    let name = match host.rsplit_once(':') {
        Some((name, port)) if is_port(port) => name,
        _ => host,
    };
    NAMES.contains(&name)
}
