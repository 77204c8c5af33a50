//! Remembers which optional parameters the models of a service do not take.
//!
//! Knows nothing of what a parameter means: names are the provider's. What was learned holds for all attempts of this process.

use convoke_model::ProviderSettings;
use std::collections::HashMap;
use std::sync::RwLock;

/// How many parameters are left out of one request. A service that refuses more has something else against it.
const MOST: usize = 8;

/// Refused parameters, by service and model.
#[derive(Debug, Default)]
pub(crate) struct Refusals(RwLock<HashMap<ProviderSettings, HashMap<String, Vec<&'static str>>>>);

impl Refusals {
    /// The parameters that a model of a service does not take.
    pub fn of(&self, service: &ProviderSettings, model: &str) -> Vec<&'static str> {
        let known = self.0.read().expect("a panic poisoned this lock");
        // Most services refuse nothing, and settings are long to hash.
        if known.is_empty() {
            return Vec::new();
        }
        known.get(service).and_then(|models| models.get(model)).cloned().unwrap_or_default()
    }

    /// Learns that a model refused a parameter of a request that left out these others. Says whether the request is worth
    /// sending again: it had the parameter, and has not been sent too often.
    pub fn learn(
        &self,
        service: &ProviderSettings,
        model: &str,
        parameter: &'static str,
        left_out: &[&str],
    ) -> bool {
        if left_out.contains(&parameter) || left_out.len() >= MOST {
            return false;
        }
        let mut known = self.0.write().expect("a panic poisoned this lock");
        let refused = known.entry(service.clone()).or_default().entry(model.to_owned()).or_default();
        if !refused.contains(&parameter) {
            refused.push(parameter);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_holds_for_its_model_of_its_service() {
        let (refusals, one) = (Refusals::default(), ProviderSettings::default());
        let other = ProviderSettings { name: "other".into(), ..ProviderSettings::default() };
        assert!(refusals.learn(&one, "m", "temperature", &[]));
        assert_eq!(refusals.of(&one, "m"), ["temperature"]);
        assert!(refusals.of(&one, "n").is_empty() && refusals.of(&other, "m").is_empty());
    }

    #[test]
    fn a_parameter_that_was_not_sent_cannot_be_refused() {
        let (refusals, service) = (Refusals::default(), ProviderSettings::default());
        assert!(refusals.learn(&service, "m", "a", &[]));
        // Another request was under way when the first one was refused.
        assert!(refusals.learn(&service, "m", "a", &[]));
        assert!(!refusals.learn(&service, "m", "a", &["a"]));
        assert!(!refusals.learn(&service, "m", "b", &["x"; MOST]));
        assert_eq!(refusals.of(&service, "m"), ["a"]);
    }
}
