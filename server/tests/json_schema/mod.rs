//! JSON held against a schema.

#![allow(unreachable_pub, reason = "a module of tests")]
#![allow(clippy::unwrap_used, reason = "Clippy allows it in tests, but not in what they share")]

use serde_json::Value;

/// Says where `value` differs from `schema`. Knows the keywords that the schemas in `docs/schema/` use, and no others.
pub fn fault(schema: &Value, value: &Value, root: &Value, at: &str) -> Option<String> {
    let rules = schema.as_object().unwrap();
    rules.iter().find_map(|(keyword, rule)| match keyword.as_str() {
        "$schema" | "$defs" | "title" | "description" | "default" => None,
        "$ref" => {
            let target = root.pointer(rule.as_str().unwrap().strip_prefix('#').unwrap());
            fault(target.unwrap(), value, root, at)
        }
        "oneOf" => {
            let faults: Vec<_> =
                rule.as_array().unwrap().iter().map(|it| fault(it, value, root, at)).collect();
            let fits = faults.iter().filter(|it| it.is_none()).count();
            (fits != 1).then(|| format!("{at}: {fits} alternatives fit: {faults:?}"))
        }
        "anyOf" => {
            let faults: Option<Vec<_>> =
                rule.as_array().unwrap().iter().map(|it| fault(it, value, root, at)).collect();
            faults.map(|all| format!("{at}: no alternative fits: {all:?}"))
        }
        "const" => (value != rule).then(|| format!("{at}: {value} is not {rule}")),
        "enum" => (!rule.as_array().unwrap().contains(value))
            .then(|| format!("{at}: {value} is none of {rule}")),
        "type" => {
            let names = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
            let fits = names.iter().any(|name| is_of(value, name.as_str().unwrap()));
            (!fits).then(|| format!("{at}: {value} is not of type {rule}"))
        }
        "required" => {
            let object = value.as_object()?;
            let missing =
                rule.as_array()?.iter().find(|it| !object.contains_key(it.as_str().unwrap()));
            missing.map(|it| format!("{at}: {it} is missing"))
        }
        "properties" => rule.as_object()?.iter().find_map(|(name, rule)| {
            fault(rule, value.as_object()?.get(name)?, root, &format!("{at}/{name}"))
        }),
        "additionalProperties" => {
            let named = schema["properties"].as_object();
            let others = value.as_object()?.iter();
            let mut others =
                others.filter(|it| named.is_none_or(|named| !named.contains_key(it.0)));
            others.find_map(|(name, it)| match rule {
                Value::Bool(false) => Some(format!("{at}: {name} is not allowed")),
                rule => fault(rule, it, root, &format!("{at}/{name}")),
            })
        }
        "minimum" => (value.as_f64()? < rule.as_f64()?).then(|| format!("{at}: {value} < {rule}")),
        "maximum" => (rule.as_f64()? < value.as_f64()?).then(|| format!("{at}: {value} > {rule}")),
        "pattern" => {
            let pattern = regex::Regex::new(rule.as_str().unwrap()).unwrap();
            let fits = pattern.is_match(value.as_str()?);
            (!fits).then(|| format!("{at}: {value} does not match {rule}"))
        }
        "items" => {
            let mut items = value.as_array()?.iter().enumerate();
            items.find_map(|(index, it)| fault(rule, it, root, &format!("{at}/{index}")))
        }
        other => panic!("the test does not know the keyword {other}"),
    })
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the test does not know the type {other}"),
    }
}
