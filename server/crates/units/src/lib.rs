//! Amounts with their unit as their type: nanoseconds and bytes do not mix, neither with one another nor with plain
//! numbers.
//!
//! *Owns*: [`Ns`] and [`Bytes`], the types of every integer duration, point in time and size, and their arithmetic; [`CompilePhases`],
//! durations that go together.
//!
//! *Never*: formats an amount.
//!
//! *The test that says so*: this does not compile.
//!
//! ```compile_fail,E0308
//! use units::{Bytes, Ns};
//!
//! let nonsense = Ns(1) + Bytes(1);
//! ```

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

macro_rules! unit {
    ($(#[doc = $doc:literal])* $name:ident) => {
        $(#[doc = $doc])*
        ///
        /// Sums are those of `i64`: those that may not fit are made with [`Self::saturating_add`].
        #[derive(
            Debug,
            Clone,
            Copy,
            Default,
            PartialEq,
            Eq,
            Hash,
            PartialOrd,
            Ord,
            serde::Serialize,
            serde::Deserialize,
        )]
        #[repr(transparent)]
        pub struct $name(pub i64);

        impl $name {
            /// None.
            pub const ZERO: Self = Self(0);
            /// The largest amount.
            pub const MAX: Self = Self(i64::MAX);
            /// The most negative amount.
            pub const MIN: Self = Self(i64::MIN);

            /// The amount as a float, for means and shares.
            #[inline]
            #[must_use]
            pub const fn as_f64(self) -> f64 {
                self.0 as f64
            }

            /// The amount without its sign.
            #[inline]
            #[must_use]
            pub const fn abs(self) -> Self {
                Self(self.0.abs())
            }

            /// The sum, or the limit on that side where it does not fit.
            #[inline]
            #[must_use]
            pub const fn saturating_add(self, more: Self) -> Self {
                Self(self.0.saturating_add(more.0))
            }

            /// The difference, or the limit on that side where it does not fit.
            #[inline]
            #[must_use]
            pub const fn saturating_sub(self, less: Self) -> Self {
                Self(self.0.saturating_sub(less.0))
            }

            /// So many times the amount, or the limit on that side where it does not fit.
            #[inline]
            #[must_use]
            pub const fn saturating_mul(self, times: i64) -> Self {
                Self(self.0.saturating_mul(times))
            }
        }

        impl Add for $name {
            type Output = Self;

            #[inline]
            fn add(self, more: Self) -> Self {
                Self(self.0 + more.0)
            }
        }

        impl Sub for $name {
            type Output = Self;

            #[inline]
            fn sub(self, less: Self) -> Self {
                Self(self.0 - less.0)
            }
        }

        impl Neg for $name {
            type Output = Self;

            #[inline]
            fn neg(self) -> Self {
                Self(-self.0)
            }
        }

        impl Mul<i64> for $name {
            type Output = Self;

            #[inline]
            fn mul(self, times: i64) -> Self {
                Self(self.0 * times)
            }
        }

        impl Div<i64> for $name {
            type Output = Self;

            #[inline]
            fn div(self, parts: i64) -> Self {
                Self(self.0 / parts)
            }
        }

        impl AddAssign for $name {
            #[inline]
            fn add_assign(&mut self, more: Self) {
                self.0 += more.0;
            }
        }

        impl SubAssign for $name {
            #[inline]
            fn sub_assign(&mut self, less: Self) {
                self.0 -= less.0;
            }
        }

        impl Sum for $name {
            #[inline]
            fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
                Self(amounts.map(|it| it.0).sum())
            }
        }

        impl<'a> Sum<&'a $name> for $name {
            #[inline]
            fn sum<I: Iterator<Item = &'a Self>>(amounts: I) -> Self {
                Self(amounts.map(|it| it.0).sum())
            }
        }

        impl From<$name> for i128 {
            #[inline]
            fn from(amount: $name) -> Self {
                amount.0.into()
            }
        }
    };
}

unit! {
    /// A duration or a point in time in integer nanoseconds. What a point in time is relative to is said where it stands.
    Ns
}

unit! {
    /// A size in integer bytes; negative where a recording counts a release.
    Bytes
}

/// What compiling took, by phase, each without the ones below it. All are zero where the log does not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CompilePhases {
    /// Dynamo: reading bytecode into graphs, and the guards.
    pub tracing: Ns,
    /// AOTAutograd: the graph of the backward pass, and dividing it from that of the forward pass.
    pub autograd: Ns,
    /// Inductor: its passes over the graph, lowering and scheduling.
    pub inductor: Ns,
    /// Writing the generated code and compiling its kernels (Triton, C++), waiting for them included.
    pub kernels: Ns,
}

impl CompilePhases {
    /// All of them with their names, in the order in which they run.
    #[must_use]
    pub fn named(&self) -> [(&'static str, Ns); 4] {
        let Self { tracing, autograd, inductor, kernels } = *self;
        [("tracing", tracing), ("autograd", autograd), ("inductor", inductor), ("kernels", kernels)]
    }
}

impl AddAssign for CompilePhases {
    fn add_assign(&mut self, more: Self) {
        let Self { tracing, autograd, inductor, kernels } = more;
        let add = |to: &mut Ns, more: Ns| *to = to.saturating_add(more);
        add(&mut self.tracing, tracing);
        add(&mut self.autograd, autograd);
        add(&mut self.inductor, inductor);
        add(&mut self.kernels, kernels);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_add_up_as_their_numbers_do() {
        let times = [Ns(3), Ns(4)];
        assert_eq!(times.iter().sum::<Ns>(), times[0] + times[1]);
        assert_eq!((Bytes(10) - Bytes(4)) / 2 * 3, Bytes(9));
        assert_eq!((-Ns(5)).abs(), Ns(5));
        assert_eq!(Ns::MAX.saturating_add(Ns(1)), Ns::MAX);
        assert_eq!(Bytes::MIN.saturating_sub(Bytes(1)), Bytes::MIN);
    }
}
