//! All rules, and what can be set of them.

use crate::{Rule, Thresholds, device, distributed, host, memory, possible_sync, sync};

/// The rules of each module. One file for each rule.
static ALL: [&[&Rule]; 5] = [
    &[&sync::RULE, &possible_sync::RULE],
    &host::RULES,
    &device::RULES,
    &distributed::RULES,
    &memory::RULES,
];

/// All rules.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    ALL.into_iter().flatten().copied()
}

/// The rule of an id.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    rules().find(|it| it.id == id)
}

impl Thresholds {
    /// Sets one.
    ///
    /// # Errors
    /// If there is no such rule, no such threshold, or the value is no finite number of 0 or more; the message says what
    /// may be there.
    pub fn set(&mut self, rule: &str, name: &str, value: f64) -> Result<(), String> {
        let Some(found) = self::rule(rule) else {
            let rules: Vec<&str> = rules().map(|it| it.id).collect();
            return Err(format!("unknown rule `{rule}`, expected one of: {}", rules.join(", ")));
        };
        let Some(threshold) = found.thresholds.iter().find(|it| it.name == name) else {
            let names: Vec<&str> = found.thresholds.iter().map(|it| it.name).collect();
            return Err(match names.is_empty() {
                true => format!("{rule} has no thresholds"),
                false => {
                    format!(
                        "unknown threshold `{name}` of {rule}, expected one of: {}",
                        names.join(", ")
                    )
                }
            });
        };
        if !value.is_finite() || value < 0.0 {
            return Err(format!("{rule}.{name}: {value} is not a finite number of 0 or more"));
        }
        self.0.insert((found.id, threshold.name), value);
        Ok(())
    }
}
