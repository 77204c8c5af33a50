//! Which policies hold for a call of a tool of our own: those that the plan states, and those that stand in the person's configuration.
//!
//! Of several the strictest verdict counts, so a policy more only ever makes less possible. Invariant: a policy that cannot be read, or
//! that names rules which this program cannot ask, allows nothing.

use convoke_agent::Asker;
use convoke_model::PolicySource;
use convoke_policy::{Actor, Authorities, Authority, NoAuthorities, Policy};
use std::sync::Arc;

/// The policy of commands where no person has stated one.
const USUAL: &str = "develop";

/// Reads the text of a file of Cedar rules.
pub type ReadCedar = fn(&str) -> Result<Arc<dyn Authority>, String>;

/// Policies that hold whatever a plan states, and who reads what they name.
#[derive(Debug, Clone, Default)]
pub struct Rulebook {
    /// Policies of the configuration.
    pub standing: Vec<PolicySource>,
    /// Whether they only add to the usual policy: no person chose them in its place.
    pub adds_to_usual: bool,
    /// Reads Cedar rules; without it a policy that names some is refused.
    pub cedar: Option<ReadCedar>,
}

/// The policies that hold for one call, and who makes it.
#[derive(Clone, Default)]
pub struct Held {
    sources: Vec<PolicySource>,
    /// Whether the usual policy holds for commands as well.
    usual: bool,
    cedar: Option<ReadCedar>,
    actor: Actor,
}

impl Rulebook {
    /// What holds for a call: what its step states, and what holds whatever a plan states.
    pub(crate) fn held(&self, stated: &[PolicySource], asker: Asker<'_>) -> Held {
        let sources: Vec<PolicySource> = stated.iter().chain(&self.standing).cloned().collect();
        let usual = stated.is_empty() && (self.standing.is_empty() || self.adds_to_usual);
        Held { sources, usual, cedar: self.cedar, actor: actor(asker) }
    }
}

fn actor(asker: Asker<'_>) -> Actor {
    let contract = asker.contract;
    Actor {
        persona: contract.and_then(|contract| contract.persona.clone()),
        step: contract.map_or(asker.step, |contract| &contract.phase).to_owned(),
        contract: contract.and_then(|contract| serde_json::to_value(contract).ok()).unwrap_or_default(),
        tool: None,
    }
}

impl Held {
    /// Exactly these, or the usual one where there are none.
    pub fn stated(sources: &[PolicySource]) -> Held {
        Held { sources: sources.to_vec(), usual: sources.is_empty(), ..Held::default() }
    }

    /// Policies of commands: there is always one. An error says why they cannot be asked.
    pub(super) fn of_commands(&self) -> Result<Vec<Policy>, String> {
        let usual =
            self.usual.then(|| Policy::preset(USUAL).expect("there is one").for_actor(self.actor.clone()));
        Ok(usual.into_iter().chain(self.read(None)?).collect())
    }

    /// Policies of paths: none where nothing is stated, because the names that hold everywhere are the tools' own to keep to.
    pub(super) fn of_paths(&self, tool: &str) -> Result<Vec<Policy>, String> {
        self.read(Some(tool))
    }

    fn read(&self, tool: Option<&str>) -> Result<Vec<Policy>, String> {
        let actor = Actor { tool: tool.map(str::to_owned), ..self.actor.clone() };
        self.sources.iter().map(|source| Ok(read(source, self.cedar)?.for_actor(actor.clone()))).collect()
    }
}

/// The policy of a source; an error says why there is none.
pub fn read(source: &PolicySource, cedar: Option<ReadCedar>) -> Result<Policy, String> {
    let name = &source.name;
    let Some(text) = &source.text else {
        return Policy::preset(name).ok_or_else(|| format!("there is no policy `{name}`"));
    };
    let policy = match cedar {
        Some(read) => Policy::parse_with(text, &Beside { source, read }),
        None => Policy::parse_with(text, &NoAuthorities),
    };
    policy.map_err(|findings| {
        let first = findings.first().map(|finding| finding.message.clone()).unwrap_or_default();
        format!("the policy `{name}` cannot be read: {first}")
    })
}

/// The rules that were read together with a policy.
struct Beside<'a> {
    source: &'a PolicySource,
    read: ReadCedar,
}

impl Authorities for Beside<'_> {
    fn read(&self, name: &str) -> Result<Arc<dyn Authority>, String> {
        match self.source.cedar.as_ref().filter(|cedar| cedar.name == name) {
            Some(cedar) => (self.read)(&cedar.text),
            None => Err("its text was not read with the policy".to_owned()),
        }
    }
}
