//! What calls to models are counted on: the model that they ask, and its provider.
//!
//! Each (provider, model, key) is a resource of its own, made when a task first needs it. It begins with as many at once
//! as the run may have, and learns from how calls fare how many are good; while its provider says "later" it
//! pauses, for every call that would ask the same. What the configuration says about a service is counted besides, and by
//! all processes together. Agents of the scripted provider ask no service, and are not counted; nor are those of a run that
//! is played back.

mod service;
mod stated;

pub(crate) use service::Service;

use crate::capacity::limits::{Breaker, BreakerKey, Limits, ServiceLimit};
use crate::capacity::terms::{Counts, Shared};
use convoke_govern::{Adapted, Governor, Learned, LearnedLimit, ResourceId, Spec};
use convoke_model::hash::{HashMap, HashSet};
use convoke_model::{Digest, ProviderSettings, Timestamp};
use convoke_plan::{Agent, Text};
use stated::merged;
use std::sync::Arc;
use std::time::Duration;

/// Providers that answer by themselves.
const WITHOUT_SERVICE: [&str; 2] = ["", "scripted"];

/// The services of a run, by provider, model and key.
#[derive(Debug)]
pub(crate) struct Services {
    /// The most attempts at once of the whole run.
    pub most: u64,
    limits: Vec<ServiceLimit>,
    breaker: Option<Breaker>,
    learned: Learned,
    asks_nobody: bool,
    /// All processes learn together.
    together: bool,
    /// Resources for which it was looked up what earlier runs know.
    recalled: HashSet<ResourceId>,
    /// Resources whose learned limit all processes know.
    pub limited: HashSet<ResourceId>,
    /// Services of which this process has just heard, by the names of their resources, and what earlier runs know.
    pub met: Vec<(String, Option<LearnedLimit>)>,
    /// What was changed because of what earlier runs know.
    pub adapted: Vec<Adapted>,
    /// By where the settings lie, which all attempts of a node share and which live as long as the plan; then by model.
    known: HashMap<(usize, Box<str>), Option<Arc<Service>>>,
}

impl Services {
    /// For a run that has this many attempts at once.
    pub fn new(most: u64, limits: &Limits) -> Services {
        Services {
            most,
            limits: merged(&limits.services),
            breaker: limits.breaker,
            learned: limits.learned.clone(),
            asks_nobody: limits.asks_nobody,
            together: limits.machine.is_some(),
            recalled: HashSet::default(),
            limited: HashSet::default(),
            met: Vec::new(),
            adapted: Vec::new(),
            known: HashMap::default(),
        }
    }

    /// What the first call of an agent is counted on, if on anything and if that is known before its texts are rendered.
    pub fn of_first(
        &mut self,
        agent: &Agent,
        governor: &mut Governor,
        now: Timestamp,
    ) -> Option<Arc<Service>> {
        match first_model(agent) {
            Some(model) => self.of(agent, model, governor, now),
            None => None,
        }
    }

    /// What a call of an agent to a model is counted on, if on anything.
    pub fn of(
        &mut self,
        agent: &Agent,
        model: &str,
        governor: &mut Governor,
        now: Timestamp,
    ) -> Option<Arc<Service>> {
        let key = (Arc::as_ptr(&agent.settings).addr(), Box::from(model));
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let service = match self.counts(agent) {
            true => Some(Arc::new(self.make(&agent.settings.provider, model, governor, now))),
            false => None,
        };
        self.known.insert(key, service.clone());
        service
    }

    fn make(
        &mut self,
        provider: &ProviderSettings,
        model: &str,
        governor: &mut Governor,
        now: Timestamp,
    ) -> Service {
        let mark = mark(provider);
        let name = format!("{}/{model}{mark}", provider.name);
        let own = format!("model:{name}");
        let mut service = Service::default();
        for limit in self.limits.iter().filter(|limit| limit.provider == provider.name) {
            match &limit.model {
                None => service.add(limit, &format!("{}{mark}", provider.name), "provider", governor),
                Some(named) if named == model => service.add(limit, &name, "model", governor),
                Some(_) => {}
            }
        }
        service.take(Spec::slots(own.clone(), self.most).learn_from(self.most), governor);
        self.recall(&mut service, governor, now);
        service
    }

    /// Goes on from what earlier runs have learned, until this one knows better; and from there together with all others.
    fn recall(&mut self, service: &mut Service, governor: &mut Governor, now: Timestamp) {
        for id in service.slots().filter(|id| governor.learns(*id)).collect::<Vec<_>>() {
            let name = governor.name(id).to_owned();
            if self.together {
                service.learned.push((id, learned(&name)));
            }
            if !self.recalled.insert(id) {
                continue;
            }
            let remembered = self.learned.fresh(&name, now);
            let known = remembered.map(|limit| Learned([(name.clone(), limit)].into()));
            self.adapted.extend(known.iter().flat_map(|known| governor.remember(known, now)));
            if self.together {
                governor.learn_together(id);
                self.met.push((name, remembered));
            }
        }
    }

    /// Whether all processes know a limit of a resource by now.
    pub fn limit(&mut self, resource: ResourceId, known: bool) {
        if known {
            self.limited.insert(resource);
        } else {
            self.limited.remove(&resource);
        }
    }

    /// The breaker that watches how attempts of a step fare with its own model. An agent that asks no service has none.
    pub fn breaker(&self, step: &str, agent: &Agent, governor: &mut Governor) -> Option<ResourceId> {
        let breaker = self.breaker.filter(|_| self.counts(agent))?;
        let provider = &agent.settings.provider;
        let (mark, model) = (mark(provider), first_model(agent).unwrap_or("(rendered)"));
        let name = match breaker.per {
            BreakerKey::Role => format!("breaker:step {step} {}/{model}{mark}", provider.name),
            BreakerKey::Model => format!("breaker:{}/{model}{mark}", provider.name),
            BreakerKey::Provider => format!("breaker:{}{mark}", provider.name),
        };
        governor.resource(&name).or_else(|| governor.add(Spec::breaker_only(name, breaker.rules())).ok())
    }

    /// How long a breaker is waited for.
    pub fn longest_wait(&self) -> Duration {
        Duration::from_secs(self.breaker.unwrap_or_default().max_wait_seconds)
    }

    /// Whether calls of an agent go to a service.
    fn counts(&self, agent: &Agent) -> bool {
        !self.asks_nobody && !WITHOUT_SERVICE.contains(&agent.settings.provider.name.as_str())
    }
}

/// What all processes together have learned of a resource, as the table counts it.
fn learned(resource: &str) -> Arc<Shared> {
    let (name, origin) = (learned_name(resource), "service".to_owned());
    let limit = u64::from(u32::MAX);
    Arc::new(Shared { name, limit, origin, counts: Counts::Slots, window: None, says_spent: false })
}

/// The learned limit of a resource has a name of its own in the table, apart from the limit that the configuration states.
pub(crate) fn learned_name(resource: &str) -> String {
    format!("learned:{resource}")
}

/// The model that an agent asks first, where its name is not rendered.
pub(crate) fn first_model(agent: &Agent) -> Option<&str> {
    match &agent.model {
        Some(Text::Literal(model)) => Some(model),
        Some(_) => None,
        None => Some(""),
    }
}

/// A mark where a provider is asked elsewhere or with another key than usual. The key cannot be read from it. What else is
/// said of a provider (headers, say) makes no other service of it, and the usual key is the same whether it is said or not.
fn mark(provider: &ProviderSettings) -> String {
    let usual_key = format!("${{{}_API_KEY}}", provider.name.to_uppercase());
    let key = provider.api_key.as_ref().filter(|key| **key != usual_key);
    let account = (&provider.base_url, key, &provider.api_key_file, &provider.program);
    let usual = ProviderSettings::default();
    if account == (&usual.base_url, None, &usual.api_key_file, &usual.program) {
        return String::new();
    }
    let told = serde_json::to_vec(&account).expect("settings are data");
    format!("#{}", &Digest::of(&told).to_string()[..8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::limits::Stated;
    use convoke_agent::CallDemand;

    fn stated(limit: u64) -> Option<Stated> {
        Some(Stated { limit, origin: "convoke.toml:1".into() })
    }

    fn call(input_tokens: u64) -> CallDemand {
        CallDemand {
            task: convoke_model::TaskId("t".into()),
            attempt: 1,
            provider: "openai".into(),
            model: "gpt-5".into(),
            input_tokens,
            most_input_tokens: input_tokens,
            output_tokens: 10,
            cost_micros: None,
            refused: Vec::new(),
        }
    }

    fn make(limits: Vec<ServiceLimit>, provider: &ProviderSettings) -> (Service, Governor) {
        let mut governor = Governor::new(8);
        let limits = Limits { services: limits, ..Limits::default() };
        let service = Services::new(8, &limits).make(provider, "gpt-5", &mut governor, Timestamp(1));
        (service, governor)
    }

    fn openai() -> ProviderSettings {
        ProviderSettings { name: "openai".into(), ..ProviderSettings::default() }
    }

    #[test]
    fn one_service_has_one_name_and_its_key_does_not_show() {
        let name = |provider: &ProviderSettings| {
            let (service, governor) = make(Vec::new(), provider);
            governor.name(service.slots().next().unwrap()).to_owned()
        };
        assert_eq!(name(&openai()), "model:openai/gpt-5");
        let other = ProviderSettings { api_key: Some("sk-literal".into()), ..openai() };
        assert!(name(&other).starts_with("model:openai/gpt-5#") && !name(&other).contains("literal"));
        assert_eq!(name(&other), name(&other.clone()));
        let said = ProviderSettings { api_key: Some("${OPENAI_API_KEY}".into()), ..openai() };
        assert_eq!(name(&said), name(&openai()), "the usual key is the usual key");
    }

    #[test]
    fn of_two_names_for_one_service_the_smaller_limit_holds() {
        let of = |limit| ServiceLimit {
            provider: "openai".into(),
            concurrency: stated(limit),
            ..Default::default()
        };
        let (service, governor) = make(vec![of(4), of(2)], &openai());
        assert_eq!(service.wants(&call(1), &HashSet::default()).len(), 1, "and it is counted once");
        assert_eq!(governor.limit(governor.resource("provider:openai").unwrap()), 2);
    }

    #[test]
    fn without_configuration_only_slots_of_this_process_count() {
        let (service, _) = make(Vec::new(), &openai());
        assert!(
            service.is_plain(&HashSet::default()) && service.wants(&call(1), &HashSet::default()).is_empty()
        );
    }

    #[test]
    fn limits_of_the_provider_and_of_the_model_both_count_and_are_shared() {
        let provider = ServiceLimit {
            provider: "openai".into(),
            tokens_per_minute: stated(1000),
            ..ServiceLimit::default()
        };
        let model = ServiceLimit {
            provider: "openai".into(),
            model: Some("gpt-5".into()),
            concurrency: stated(3),
            requests_per_minute: stated(60),
            ..ServiceLimit::default()
        };
        let other = ServiceLimit { model: Some("other".into()), ..model.clone() };
        let (service, governor) = make(vec![provider, model, other], &openai());
        let wants: Vec<_> = service
            .wants(&call(90), &HashSet::default())
            .into_iter()
            .map(|want| (want.of.name.clone(), want.count))
            .collect();
        let expected = [("tokens:openai", 100), ("model:openai/gpt-5", 1), ("requests:openai/gpt-5", 1)];
        assert_eq!(wants, expected.map(|(name, count)| (name.to_owned(), count)));
        assert_eq!(service.slots().count(), 1, "the learned limit is that of the configured resource");
        assert_eq!(governor.limit(governor.resource("model:openai/gpt-5").unwrap()), 3);
        assert!(!service.is_plain(&HashSet::default()));
    }
}
