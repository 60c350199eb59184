//! The arguments of a command.

use std::str::FromStr;

use ide::{View, ViewMetric};
use serde_json::Value;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::lsp_types::Url;

/// The arguments of a command: in their order, or by name in one object.
pub(super) struct CommandArguments(pub(super) Vec<Value>);

impl CommandArguments {
    pub(super) fn get(&self, place: usize, name: &str) -> Option<&Value> {
        let value = match self.0.first() {
            Some(Value::Object(object)) => object.get(name),
            _ => self.0.get(place),
        };
        value.filter(|value| !value.is_null())
    }

    /// An argument that is given by name alone.
    pub(super) fn named(&self, name: &str) -> Option<&Value> {
        self.0.first().and_then(|it| it.get(name)).filter(|it| !it.is_null())
    }

    pub(super) fn number(&self, place: usize, name: &str) -> Result<Option<u32>> {
        let number = |value: &Value| {
            let number = value.as_u64().map(|it| u32::try_from(it).unwrap_or(u32::MAX));
            number.ok_or_else(|| invalid(format!("{name}: expected a number, found {value}")))
        };
        self.get(place, name).map(number).transpose()
    }

    pub(super) fn flag(&self, place: usize, name: &str) -> Result<Option<bool>> {
        let flag = |value: &Value| {
            value
                .as_bool()
                .ok_or_else(|| invalid(format!("{name}: expected true or false, found {value}")))
        };
        self.get(place, name).map(flag).transpose()
    }

    pub(super) fn uri(&self, place: usize, name: &str) -> Result<Option<Url>> {
        let uri = |value: &Value| {
            let uri = value.as_str().and_then(|text| Url::parse(text).ok());
            uri.ok_or_else(|| invalid(format!("{name}: expected a URI, found {value}")))
        };
        self.get(place, name).map(uri).transpose()
    }

    /// A metric, for this answer only.
    pub(super) fn metric(&self, place: usize) -> Result<Option<Option<ViewMetric>>> {
        self.get(place, "metric").map(metric).transpose()
    }

    /// Patterns, none of which is empty; `None` is no pattern.
    pub(super) fn patterns<T: FromStr<Err = String>>(
        &self,
        place: usize,
        name: &str,
    ) -> Result<Vec<T>> {
        let Some(value) = self.get(place, name) else { return Ok(Vec::new()) };
        let expected = || invalid(format!("{name}: expected a list of patterns, found {value}"));
        let texts = value.as_array().ok_or_else(expected)?.iter();
        let pattern = |it: &Value| {
            // Steps may be numbers.
            let is_known = it.is_u64() || it.as_str().is_some_and(|it| !it.is_empty());
            text(is_known.then_some(it).ok_or_else(expected)?)
                .parse()
                .map_err(|error| invalid(format!("{name}: {error}")))
        };
        texts.map(pattern).collect()
    }

    /// Names, none of which is empty.
    pub(super) fn texts(&self, place: usize, name: &str) -> Result<Vec<String>> {
        let Some(value) = self.get(place, name) else { return Ok(Vec::new()) };
        let expected = || invalid(format!("{name}: expected a list of names, found {value}"));
        let texts = value.as_array().ok_or_else(expected)?.iter();
        let text = |it: &Value| Some(text(it)).filter(|it| !it.is_empty()).ok_or_else(expected);
        texts.map(text).collect()
    }

    /// Whole numbers.
    pub(super) fn integers(&self, place: usize, name: &str) -> Result<Vec<i64>> {
        let Some(value) = self.get(place, name) else { return Ok(Vec::new()) };
        let expected = || invalid(format!("{name}: expected a list of numbers, found {value}"));
        let numbers = value.as_array().ok_or_else(expected)?.iter();
        numbers.map(|it| it.as_i64().ok_or_else(expected)).collect()
    }

    pub(super) fn need(&self, name: &str, allowed: &str) -> Result<&Value> {
        self.get(0, name)
            .ok_or_else(|| invalid(format!("missing `{name}`, expected one of: {allowed}")))
    }
}

pub(super) fn invalid(message: String) -> Error {
    Error { code: ErrorCode::InvalidParams, message: message.into(), data: None }
}

pub(super) fn metric(value: &Value) -> Result<Option<ViewMetric>> {
    ViewMetric::parse(&text(value)).map_err(|error| invalid(error.to_string()))
}

/// A text as it is, anything else as it is written.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A view with another metric, if there is one.
pub(super) fn with_metric(view: &View, metric: Option<Option<ViewMetric>>) -> View {
    View { metric: metric.unwrap_or(view.metric), ..view.clone() }
}
