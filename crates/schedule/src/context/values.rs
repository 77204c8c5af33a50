//! Group values as templates see them: exactly Conductor's keys when listed, further names when asked for.

use super::Name;
use crate::state::TaskIx;
use crate::view::View;
use convoke_model::hash::OrderedMap;
use convoke_model::{Class, Failure, reason};
use convoke_plan::Kind;
use convoke_plan::template::{Object, Value};
use std::sync::Arc;

/// A map with keys that can be read by name but are not listed.
#[derive(Debug)]
struct MapValue {
    listed: Entries,
    hidden: Vec<(Name, Value)>,
}

/// Up to so many entries are compared one after the other, which is quicker than hashing the name.
const FEW: usize = 8;

/// Entries in the order given; of a name that stands twice, the last value at the first place.
#[derive(Debug)]
enum Entries {
    Few(Vec<(Name, Value)>),
    Many(OrderedMap<Name, Value>),
}

impl Entries {
    fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Entries::Few(entries) => entries.iter().find(|(own, _)| &**own == name).map(|(_, value)| value),
            Entries::Many(entries) => entries.get(name),
        }
    }

    fn iter(&self) -> impl Iterator<Item = (&Name, &Value)> {
        let (few, many) = match self {
            Entries::Few(entries) => (Some(entries), None),
            Entries::Many(entries) => (None, Some(entries)),
        };
        let few = few.into_iter().flatten().map(|(name, value)| (name, value));
        few.chain(many.into_iter().flatten())
    }
}

impl FromIterator<(Name, Value)> for Entries {
    fn from_iter<I: IntoIterator<Item = (Name, Value)>>(entries: I) -> Entries {
        let mut rest = entries.into_iter();
        let mut few: Vec<(Name, Value)> = Vec::with_capacity(rest.size_hint().0.min(FEW));
        while few.len() < FEW
            && let Some((name, value)) = rest.next()
        {
            match few.iter_mut().find(|(own, _)| *own == name) {
                Some(known) => known.1 = value,
                None => few.push((name, value)),
            }
        }
        match rest.next() {
            None => Entries::Few(few),
            Some(next) => Entries::Many(few.into_iter().chain([next]).chain(rest).collect()),
        }
    }
}

/// A map in the order given.
pub(crate) fn map_value<K: Into<Name>>(entries: impl IntoIterator<Item = (K, Value)>) -> Value {
    let listed = entries.into_iter().map(|(name, value)| (name.into(), value)).collect();
    Value::from_object(MapValue { listed, hidden: Vec::new() })
}

/// The same map with other values, listed or not; `None` of anything else.
pub(crate) fn with_values(value: &Value, other: &dyn Fn(&Value) -> Value) -> Option<Value> {
    let map = value.downcast_object_ref::<MapValue>()?;
    let listed = map.listed.iter().map(|(name, value)| (name.clone(), other(value))).collect();
    let hidden = map.hidden.iter().map(|(name, value)| (name.clone(), other(value))).collect();
    Some(Value::from_object(MapValue { listed, hidden }))
}

impl Object for MapValue {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = key.as_str()?;
        let hidden = || self.hidden.iter().find(|(name, _)| &**name == key).map(|(_, value)| value);
        self.listed.get(key).or_else(hidden).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> convoke_plan::template::Enumerator {
        let keys = self.listed.iter().map(|(name, _)| Value::from(&**name)).collect();
        convoke_plan::template::Enumerator::Values(keys)
    }
}

impl View<'_> {
    /// `{type, outputs, errors}` of a parallel group, `{type, outputs, errors, count}` of a for_each.
    pub(crate) fn group_value(&self, task: TaskIx) -> Value {
        let group = self.group(task);
        let each = matches!(self.node(task).kind, Kind::ForEach(_));
        let as_list = each && group.keys.is_none();
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        let mut aligned = Vec::with_capacity(group.members.len());
        let key = |position: usize, member: TaskIx| -> Arc<str> {
            if each { self.key_of(task, position as u32) } else { self.node(member).name.clone() }
        };
        for (position, member) in group.members.iter().enumerate() {
            if self.tasks[*member].succeeded() {
                let value = self.member_value(*member);
                if !as_list {
                    good.push((key(position, *member), value.clone()));
                }
                aligned.push(value);
            } else if let Some(failure) = self.tasks[*member].failure.as_deref() {
                let asks = matches!(self.node(*member).kind, Kind::Agent(_));
                let who = if each { "item_key" } else { "agent_name" };
                let key = key(position, *member);
                let value = error_entry(who, &key, failure, asks);
                aligned.push(value.clone());
                bad.push((key, value));
            } else {
                aligned.push(Value::from(()));
            }
        }
        let succeeded = group.members.iter().map(|member| self.tasks[*member].succeeded());
        let all_succeeded = succeeded.clone().all(|succeeded| succeeded);
        let only_good = || aligned.iter().zip(succeeded).filter(|(_, good)| *good).map(|(value, _)| value);
        let some_good = (as_list && !all_succeeded).then(|| only_good().cloned().collect::<Vec<_>>());
        let aligned = Value::from(aligned);
        let good = match some_good {
            Some(some) => Value::from(some),
            // Every member gave something, so both lists are one.
            None if as_list => aligned.clone(),
            None => map_value(good),
        };
        let word = if each { "for_each" } else { "parallel" };
        let count = || ("count".into(), Value::from(group.total));
        let listed =
            [("type".into(), Value::from(word)), ("outputs".into(), good), ("errors".into(), map_value(bad))];
        let listed = listed.into_iter().chain(each.then(count)).collect();
        let mut hidden = vec![("aligned".into(), aligned)];
        if !each {
            hidden.push(count());
        }
        Value::from_object(MapValue { listed, hidden })
    }
}

/// The four keys that Conductor stores; the spellings of its documentation can be read as well.
fn error_entry(who: &'static str, name: &str, failure: &Failure, asks_a_model: bool) -> Value {
    let hint = failure.hint.as_deref().map_or(Value::from(()), Value::from);
    let word = exception_type(failure, asks_a_model);
    let message = Value::from(failure.message.as_str());
    Value::from_object(MapValue {
        listed: Entries::from_iter([
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
    use proptest::prelude::*;

    proptest! {
        /// Few entries and many are the same map.
        #[test]
        fn entries_are_an_ordered_map(given in proptest::collection::vec(("[a-f]{1,2}", 0u32..9), 0..30)) {
            let model: OrderedMap<String, u32> = given.iter().cloned().collect();
            let entries: Entries =
                given.into_iter().map(|(name, value)| (Name::from(name), Value::from(value))).collect();
            for (name, value) in &model {
                prop_assert_eq!(entries.get(name), Some(&Value::from(*value)));
            }
            prop_assert_eq!(entries.get("zz"), None);
            let listed: Vec<(String, Value)> =
                entries.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
            let model: Vec<_> = model.into_iter().map(|(name, value)| (name, Value::from(value))).collect();
            prop_assert_eq!(listed, model);
        }
    }

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
