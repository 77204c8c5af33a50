//! What an agent's attempts are counted on besides the run's slots: the model that they ask.
//!
//! Each (provider, model, key) is a resource of its own, made when a task first needs it. It begins with as many at once
//! as the run may have, and learns from how calls fare how many are good; while its provider says "later" its door is
//! shut, for everybody who would ask the same. Agents of the scripted provider ask nobody, and are not counted.

use convoke_govern::{Governor, ResourceId, Spec};
use convoke_model::{Digest, ProviderSettings};
use convoke_plan::{Agent, Kind, Node, Text};
use std::collections::HashMap;
use std::sync::Arc;

/// Providers that answer by themselves.
const WITHOUT_SERVICE: [&str; 2] = ["", "scripted"];

/// The resources of models, by who asks.
#[derive(Debug)]
pub(crate) struct Services {
    /// The most attempts at once of the whole run.
    most: u64,
    /// By where the settings lie, which all attempts of a node share and which live as long as the plan.
    known: HashMap<usize, Option<ResourceId>>,
}

impl Services {
    /// For a run that has this many attempts at once.
    pub fn new(most: u64) -> Services {
        Services { most, known: HashMap::new() }
    }

    /// What attempts of a node are counted on, if on anything.
    pub fn of(&mut self, node: &Node, governor: &mut Governor) -> Option<ResourceId> {
        let Kind::Agent(agent) = &node.kind else { return None };
        let settings = Arc::as_ptr(&agent.settings).addr();
        let most = self.most;
        *self.known.entry(settings).or_insert_with(|| resource(agent, most, governor))
    }
}

fn resource(agent: &Agent, most: u64, governor: &mut Governor) -> Option<ResourceId> {
    let provider = &agent.settings.provider;
    if WITHOUT_SERVICE.contains(&provider.name.as_str()) {
        return None;
    }
    let name = name(provider, agent.model.as_ref());
    if let Some(known) = governor.resource(&name) {
        return Some(known);
    }
    let spec = Spec::slots(name, most).learn_from(most);
    Some(governor.add(spec).expect("a run has at least one slot, and the name is new"))
}

/// `model:openai/gpt-5`, with a mark where it is asked elsewhere or with another key than usual.
fn name(provider: &ProviderSettings, model: Option<&Text>) -> String {
    let model = match model {
        Some(Text::Literal(model)) => model,
        Some(_) => "*",
        None => "",
    };
    let usual = ProviderSettings { name: provider.name.clone(), ..ProviderSettings::default() };
    let mark = match *provider == usual {
        true => String::new(),
        false => {
            let told = serde_json::to_vec(provider).expect("settings are data");
            format!("#{}", &Digest::of(&told).to_string()[..8])
        }
    };
    format!("model:{}/{model}{mark}", provider.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_service_has_one_name_and_its_key_does_not_show() {
        let usual = ProviderSettings { name: "openai".into(), ..ProviderSettings::default() };
        let model = Text::Literal("gpt-5".into());
        assert_eq!(name(&usual, Some(&model)), "model:openai/gpt-5");
        let other = ProviderSettings { api_key: Some("sk-literal".into()), ..usual.clone() };
        let marked = name(&other, Some(&model));
        assert!(marked.starts_with("model:openai/gpt-5#") && !marked.contains("literal"), "{marked}");
        assert_eq!(marked, name(&other.clone(), Some(&model)));
        assert_eq!(name(&usual, None), "model:openai/");
    }
}
