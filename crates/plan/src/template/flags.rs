//! Flags as texts see them: those that were set are listed, and one that never was is false when it is read.

use std::sync::Arc;

use minijinja::value::{DynObject, Enumerator, Object, Value};

/// The flags, in their order.
#[derive(Debug)]
struct Flags(Vec<(Arc<str>, bool)>);

/// The template value of flags.
pub fn flags_value<'a>(flags: impl IntoIterator<Item = (&'a str, bool)>) -> Value {
    Value::from_object(Flags(flags.into_iter().map(|(key, flag)| (key.into(), flag)).collect()))
}

impl Flags {
    fn find(&self, key: &Value) -> Option<bool> {
        let key = key.as_str()?;
        self.0.iter().find(|(known, _)| &**known == key).map(|(_, flag)| *flag)
    }
}

impl Object for Flags {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        key.as_str()?;
        Some(Value::from(self.find(key).unwrap_or(false)))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.0.iter().map(|(key, _)| Value::from(&**key)).collect())
    }
}

/// What a map has under a key itself; of flags only those that were set.
pub(super) fn own_entry(map: &DynObject, key: &Value) -> Option<Value> {
    match map.downcast_ref::<Flags>() {
        Some(flags) => flags.find(key).map(Value::from),
        None => map.get_value(key),
    }
}
