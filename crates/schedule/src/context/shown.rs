//! Group values as templates see them: exactly Conductor's keys when listed, further names when asked for.

use crate::state::TaskIx;
use crate::view::View;
use convoke_model::{Class, Failure, reason};
use convoke_plan::Kind;
use convoke_plan::template::{Object, Value};
use indexmap::IndexMap;
use std::sync::Arc;

/// A map with keys that can be read by name but are not listed.
#[derive(Debug)]
struct Shown {
    listed: IndexMap<Arc<str>, Value>,
    hidden: Vec<(Arc<str>, Value)>,
}

/// A map in the order given.
pub(crate) fn map_value<K: Into<Arc<str>>>(entries: impl IntoIterator<Item = (K, Value)>) -> Value {
    let listed = entries.into_iter().map(|(name, value)| (name.into(), value)).collect();
    Value::from_object(Shown { listed, hidden: Vec::new() })
}

/// The same map with other values, listed or not; `None` of anything else.
pub(crate) fn with_values(value: &Value, other: &dyn Fn(&Value) -> Value) -> Option<Value> {
    let shown = value.downcast_object_ref::<Shown>()?;
    let listed = shown.listed.iter().map(|(name, value)| (name.clone(), other(value))).collect();
    let hidden = shown.hidden.iter().map(|(name, value)| (name.clone(), other(value))).collect();
    Some(Value::from_object(Shown { listed, hidden }))
}

impl Object for Shown {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = key.as_str()?;
        let hidden = || self.hidden.iter().find(|(name, _)| &**name == key).map(|(_, value)| value);
        self.listed.get(key).or_else(hidden).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> convoke_plan::template::Enumerator {
        let keys = self.listed.keys().map(|name| Value::from(&**name)).collect();
        convoke_plan::template::Enumerator::Values(keys)
    }
}

impl View<'_> {
    /// `{type, outputs, errors}` of a parallel group, `{type, outputs, errors, count}` of a for_each.
    pub(crate) fn group_value(&self, task: TaskIx) -> Value {
        let group = self.group(task);
        let each = matches!(self.node(task).kind, Kind::ForEach(_));
        let (mut good, mut bad, mut aligned) = (Vec::new(), Vec::new(), Vec::new());
        for (position, member) in group.members.iter().enumerate() {
            let key: Arc<str> =
                if each { self.key_of(task, position as u32) } else { self.node(*member).name.clone() };
            if self.tasks[*member].succeeded() {
                let value = self.output_value(*member);
                aligned.push(value.clone());
                good.push((key, value));
            } else if let Some(failure) = self.tasks[*member].failure.as_deref() {
                let asks = matches!(self.node(*member).kind, Kind::Agent(_));
                let who = if each { "item_key" } else { "agent_name" };
                let value = error_entry(who, &key, failure, asks);
                aligned.push(value.clone());
                bad.push((key, value));
            } else {
                aligned.push(Value::from(()));
            }
        }
        let as_list = each && group.keys.is_none();
        let good = match as_list {
            true => Value::from(good.into_iter().map(|(_, value)| value).collect::<Vec<_>>()),
            false => map_value(good),
        };
        let word = if each { "for_each" } else { "parallel" };
        let mut listed: IndexMap<Arc<str>, Value> = IndexMap::new();
        listed.insert("type".into(), Value::from(word));
        listed.insert("outputs".into(), good);
        listed.insert("errors".into(), map_value(bad));
        if each {
            listed.insert("count".into(), Value::from(group.total));
        }
        let mut hidden = vec![("aligned".into(), Value::from(aligned))];
        if !each {
            hidden.push(("count".into(), Value::from(group.total)));
        }
        Value::from_object(Shown { listed, hidden })
    }
}

/// The four keys that Conductor stores; the spellings of its documentation can be read as well.
fn error_entry(who: &str, name: &str, failure: &Failure, asks_a_model: bool) -> Value {
    let hint = failure.hint.as_deref().map_or(Value::from(()), Value::from);
    let word = exception_type(failure, asks_a_model);
    let message = Value::from(failure.message.as_str());
    Value::from_object(Shown {
        listed: IndexMap::from_iter([
            (who.into(), Value::from(name)),
            ("exception_type".into(), Value::from(word)),
            ("message".into(), message),
            ("suggestion".into(), hint),
        ]),
        hidden: vec![
            ("error".into(), Value::from(word)),
            ("agent".into(), Value::from(name)),
            ("class".into(), Value::from(failure.class.word())),
        ],
    })
}

/// The name that Conductor's own error of this kind has.
fn exception_type(failure: &Failure, asks_a_model: bool) -> &'static str {
    match failure.class {
        Class::RateLimit | Class::Capacity | Class::Transient | Class::Permission | Class::Refused => {
            "ProviderError"
        }
        Class::Timeout if asks_a_model && failure.reason.as_deref() == Some(reason::TASK_TIMEOUT) => {
            "AgentTimeoutError"
        }
        Class::Timeout => "TimeoutError",
        Class::InvalidOutput => "ValidationError",
        Class::Budget => "LimitError",
        Class::Fatal if failure.reason.as_deref() == Some(reason::TEMPLATE) => "TemplateError",
        Class::Fatal if asks_a_model => "ProviderError",
        Class::Security | Class::Conflict | Class::Cancelled | Class::Fatal => "ExecutionError",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_names_that_conductor_gives_them() {
        let refused = Failure::new(Class::Fatal, "openai answered 400").reason("bad_request");
        let unreadable = Failure::new(Class::Fatal, "template error").reason(reason::TEMPLATE);
        let late = Failure::new(Class::Timeout, "timed out").reason(reason::TASK_TIMEOUT);
        assert_eq!(exception_type(&refused, true), "ProviderError");
        assert_eq!(exception_type(&refused, false), "ExecutionError");
        assert_eq!(exception_type(&unreadable, true), "TemplateError");
        assert_eq!(exception_type(&late, true), "AgentTimeoutError");
        assert_eq!(exception_type(&late, false), "TimeoutError");
    }
}
