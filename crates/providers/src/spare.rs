//! Remembers which optional parameters a model does not take.
//!
//! A service that refuses a request because of one of them is asked once more without it; what was learned holds for
//! the process. The names are the caller's, and so is what it means to leave one out.

use crate::fault::Fault;
use convoke_agent::{Report, Sink};
use std::collections::HashMap;
use std::sync::RwLock;

/// A parameter that can be left out: the word by which a service complains about it, and our name for it.
pub type Optional = (&'static str, &'static str);

/// What was learned, by model.
#[derive(Default)]
pub struct Spared(RwLock<HashMap<String, Vec<&'static str>>>);

impl Spared {
    /// The parameters to leave out for a model.
    pub fn of(&self, model: &str) -> Vec<&'static str> {
        self.0.read().expect("nobody panics while holding it").get(model).cloned().unwrap_or_default()
    }

    /// Learns from a fault; says whether another try makes sense.
    pub fn learn(
        &self,
        provider: &str,
        model: &str,
        fault: &Fault,
        optional: &[Optional],
        sink: &dyn Sink,
    ) -> bool {
        if !fault.is_bad_request() {
            return false;
        }
        let known = self.of(model);
        let about = |(word, name): &&Optional| !known.contains(name) && fault.is_about(word);
        let Some((_, name)) = optional.iter().find(about) else { return false };
        let mut all = self.0.write().expect("nobody panics while holding it");
        let spared = all.entry(model.to_owned()).or_default();
        if !spared.contains(name) {
            spared.push(name);
        }
        let message = format!("{provider}: model `{model}` does not take `{name}`; it is sent without");
        sink.report(Report::Noted { code: "parameter_left_out", message });
        true
    }
}
