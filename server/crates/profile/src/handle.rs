//! Typed `u32` indices into the tables. `NONE` stands for "the recording does not say".

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// No such thing in the recording.
            pub const NONE: Self = Self(u32::MAX);

            /// The handle of row `index`. Tables stop growing before `u32::MAX` rows (readers warn), so the
            /// saturation is never seen as a wrong row.
            #[must_use]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).unwrap_or(u32::MAX))
            }

            /// The row this handle stands for.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The handle, or `None` for [`Self::NONE`].
            #[must_use]
            pub fn get(self) -> Option<Self> {
                (self != Self::NONE).then_some(self)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.get() {
                    Some(it) => write!(f, concat!(stringify!($name), "({})"), it.0),
                    None => f.write_str(concat!(stringify!($name), "(NONE)")),
                }
            }
        }
    };
}

handle!(
    /// A string in the [`Interner`](crate::Interner).
    StrId
);
handle!(
    /// A row of [`Profile::threads`](crate::Profile::threads).
    ThreadId
);
handle!(
    /// A row of [`HostEvents`](crate::HostEvents).
    HostEventId
);
handle!(
    /// A row of [`DeviceEvents`](crate::DeviceEvents).
    DeviceEventId
);
