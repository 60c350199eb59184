//! What comes out of traces and side-cars: small texts and the tables that they become.

#![expect(clippy::disallowed_methods, reason = "recordings are read from disk")]

#[cfg(test)]
mod ahead;
#[cfg(test)]
mod callers;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod dump;
#[cfg(test)]
mod pieces;
#[cfg(test)]
mod reads;
#[cfg(test)]
mod recordings;
#[cfg(test)]
mod set_aside;
#[cfg(test)]
mod varieties;
