//! Joins what a model calls its modules with the trace in which they ran (`fixtures/FORMAT.md`).

use profile::{Callers, Profile, RecordedModule, WarningKind, Warnings};

/// Share of the modules of a side-car, in percent, that must have run in the trace; else it belongs to another recording.
const MIN_MATCHED_PERCENT: usize = 50;

/// Takes the names of modules from a side-car. Where they do not fit the trace, nothing is changed.
pub fn join_modules(profile: &mut Profile, callers: &Callers) -> Warnings {
    let mut warnings = Warnings::default();
    let mut modules = Vec::new();
    for module in &callers.modules {
        if let Some(event) = profile.strings.find(callers.strings.get(module.event)) {
            let name = profile.strings.intern(callers.strings.get(module.name));
            modules.push(RecordedModule { event, name, ..*module });
        }
    }
    if modules.len() * 100 < callers.modules.len() * MIN_MATCHED_PERCENT {
        let message = format!(
            "only {} of the side-car's {} modules are in the trace: their names belong to another recording and were not used",
            modules.len(),
            callers.modules.len()
        );
        warnings.add(WarningKind::SideCarMismatch, None, message);
        return warnings;
    }
    modules.sort_by_key(|it| it.event);
    modules.dedup_by_key(|it| it.event);
    profile.modules = modules;
    warnings
}

#[cfg(test)]
mod tests {
    use profile::StrId;

    use super::*;

    fn callers(rows: &[(&str, &str)]) -> Callers {
        let mut callers = Callers::default();
        for (event, name) in rows {
            let [event, name] = [event, name].map(|it| callers.strings.intern(it));
            let module = RecordedModule { event, name, parameters: Some(3), parameter_bytes: None };
            callers.modules.push(module);
        }
        callers
    }

    #[test]
    fn names_are_taken_for_the_modules_of_the_trace() {
        let mut profile = Profile::default();
        let [linear, norm] =
            ["nn.Module: Linear_1", "nn.Module: Norm_0"].map(|it| profile.strings.intern(it));
        let rows = [
            ("nn.Module: Linear_1", "layers.0.up"),
            ("nn.Module: Gone_0", "gone"),
            ("nn.Module: Norm_0", "norm"),
        ];
        let warnings = join_modules(&mut profile, &callers(&rows));
        assert!(warnings.is_empty());
        let name = |it: StrId| profile.module(it).map(|it| profile.strings.get(it.name));
        assert_eq!([name(linear), name(norm)], [Some("layers.0.up"), Some("norm")]);
        assert_eq!(profile.modules.len(), 2);
    }

    #[test]
    fn names_of_another_recording_are_not_used() {
        let mut profile = Profile::default();
        let linear = profile.strings.intern("nn.Module: Linear_0");
        let rows = [("nn.Module: Linear_0", "a"), ("nn.Module: B_0", "b"), ("nn.Module: C_0", "c")];
        let warnings = join_modules(&mut profile, &callers(&rows));
        assert_eq!(profile.module(linear), None);
        assert_eq!(warnings.iter().count(), 1);
    }
}
