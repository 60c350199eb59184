//! A check as SARIF 2.1.0, which code review tools read:
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>.

use std::io::{self, Write};

use ide::uri_reference;
use serde_json::{Value as Json, json};

use super::build::{BudgetCheck, ExceededLimit, LimitKind};

/// Where the schema of the format is published.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";

/// Writes a check. `budget` is the path of the budget from the folder that paths are to be relative to, `prefix` leads from
/// there to the root of the code.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(
    out: &mut dyn Write,
    check: &BudgetCheck,
    budget: &str,
    prefix: &str,
) -> io::Result<()> {
    let rules =
        LimitKind::ALL.map(|it| json!({"id": it.name(), "shortDescription": {"text": title(it)}}));
    let results: Vec<Json> = check.exceeded.iter().map(|it| result(it, budget, prefix)).collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "perfline",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "results": results,
        }],
    });
    serde_json::to_writer_pretty(&mut *out, &log).map_err(io::Error::other)?;
    writeln!(out)
}

fn title(kind: LimitKind) -> &'static str {
    match kind {
        LimitKind::Run => "The run exceeds its budget",
        LimitKind::Code => "A part of the code exceeds its budget",
        LimitKind::Findings => "There is more to mend than the budget allows",
        LimitKind::Baseline => "The run is worse than the baseline",
    }
}

fn result(exceeded: &ExceededLimit, budget: &str, prefix: &str) -> Json {
    let location = |uri: String, line: u32| {
        json!({"physicalLocation": {
            "artifactLocation": {"uri": uri},
            "region": {"startLine": line},
        }})
    };
    let stated = location(uri_reference(budget), exceeded.line);
    let mut result = json!({
        "ruleId": exceeded.kind.name(),
        "ruleIndex": exceeded.kind as usize,
        "level": "error",
        "message": {"text": exceeded.message},
        "locations": [stated],
    });
    if let Some(place) = &exceeded.place {
        // Review tools show a result at its first location.
        let at = location(uri_reference(&format!("{prefix}{}", place.file)), place.line.max(1));
        result["locations"] = json!([at]);
        result["relatedLocations"] = json!([stated]);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Place;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri_reference("src\\a b.py"), "src/a%20b.py");
        assert_eq!(uri_reference("run.ipynb:cell 4"), "run.ipynb%3Acell%204");
    }

    #[test]
    fn a_result_stands_on_the_line_of_code_where_one_is_to_blame() {
        let exceeded = |place| ExceededLimit {
            kind: LimitKind::Code,
            place,
            line: 3,
            message: "too long".to_owned(),
        };
        let place = Place { file: "train.py".to_owned(), line: 41 };
        let at = |json: &Json, of: &str| {
            let location = &json[of][0]["physicalLocation"];
            let uri = location["artifactLocation"]["uri"].as_str().map(str::to_owned);
            (uri, location["region"]["startLine"].as_u64())
        };
        let json = result(&exceeded(Some(place)), "perfline.toml", "src/");
        assert_eq!(at(&json, "locations"), (Some("src/train.py".to_owned()), Some(41)));
        assert_eq!(at(&json, "relatedLocations"), (Some("perfline.toml".to_owned()), Some(3)));
        assert_eq!(json["ruleId"], "budget/code");
        let json = result(&exceeded(None), "ci/perfline.toml", "");
        assert_eq!(at(&json, "locations"), (Some("ci/perfline.toml".to_owned()), Some(3)));
        assert_eq!(json.get("relatedLocations"), None);
    }

    #[test]
    fn rules_are_found_by_their_index() {
        for (index, kind) in LimitKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
        }
    }
}
