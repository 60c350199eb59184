//! What is wrong with a setting.

/// What is wrong with a setting, and what may be there: one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingFault {
    /// The keys that lead to what is at fault, from the outermost: `view`, `metric`.
    pub keys: Vec<String>,
    /// The setting, or what is taken for one.
    name: String,
    /// What is wrong.
    message: String,
    /// Whether there is no such setting.
    is_unknown: bool,
}

impl SettingFault {
    /// A value of a setting that cannot be used.
    pub(crate) fn of_value(name: &str, keys: Vec<String>, message: String) -> Self {
        Self { keys, name: name.to_owned(), message, is_unknown: false }
    }

    /// A name that no setting has.
    pub(crate) fn unknown(keys: Vec<String>, expected: &[&str]) -> Self {
        let message = format!("expected one of: {}", expected.join(", "));
        Self { name: keys.join("."), keys, message, is_unknown: true }
    }

    /// As text, where `prefix` stands before the names of settings.
    #[must_use]
    pub fn text(&self, prefix: &str) -> String {
        let Self { name, message, .. } = self;
        match self.is_unknown {
            true => format!("unknown setting `{prefix}{name}`, {message}"),
            false => format!("{prefix}{name}: {message}"),
        }
    }
}

/// What is wrong with a value: where in it, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ValueFault {
    /// The keys that lead to it from the value of the setting.
    pub(crate) keys: Vec<String>,
    pub(crate) message: String,
}

impl From<String> for ValueFault {
    fn from(message: String) -> Self {
        Self { keys: Vec::new(), message }
    }
}
