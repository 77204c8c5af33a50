//! Makes the plan: reads a workflow with everything below it, checks all of it at once, and fills in what the language
//! leaves to defaults.
//!
//! `load` follows sub-workflows, `partials` and `skills` fetch the texts they name, `build` turns each file into a
//! [`crate::plan::Workflow`]. What may be wrong between the parts of a file is `check`'s business; values given to a
//! run are compared with what a workflow declares in `inputs`. Invariant: a plan is made only when there is no error,
//! so `build` may rely on every name it meets.

mod agent;
mod around;
mod build;
mod consequences;
mod constraints;
mod context;
mod extras;
mod goal;
mod hash;
mod inputs;
mod kinds;
mod load;
mod models;
mod money;
mod node;
mod phase;
mod phase_shapes;
mod programs;
mod proof;
mod provider;
mod reduce;
mod renewal;
mod secrets;
mod shapes;
mod tooling;
mod workspace;

use context::{cuts, partials, texts, windows};
use money::{book, budget, caps, prices, unpriced};
use tooling::{calls, clearances, coders, own, own_policies, servers, skills};

pub use book::{PriceBook, Services};
pub use caps::Caps;
pub use constraints::{Degrade, DegradeOf};
pub use goal::goal_schema;
pub use inputs::{GivenInput, InputError, check_declared, check_inputs};
pub use prices::{advice as price_advice, in_words as unpriced_words};
pub use renewal::{name_budget, renew, with_addresses_of};
pub use tooling::own_policies::named_rules;

pub use unpriced::{
    Unpriced, has_price, is_enforced, models_of, unpriced, unpriced_under_budgets, without_model,
};

use crate::check;
use crate::diagnostic::{Diagnostic, Severity};
use crate::plan::Plan;
use crate::source::{ManifestDefaults, Sources};
use convoke_model::{Approvals, ProviderSettings};
use std::collections::{BTreeMap, HashSet};

/// What a plan depends on besides its files.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// `-p`: instead of what the file names.
    pub provider_override: Option<ProviderSettings>,
    /// For files that name no provider.
    pub default_provider: Option<ProviderSettings>,
    /// What the configuration says about providers, by the name that files use.
    pub provider_map: BTreeMap<String, ProviderSettings>,
    /// Where services are asked for which neither the file nor `provider_map` has an address, by the service's name.
    pub addresses: BTreeMap<String, String>,
    /// What models cost, for those that the file says nothing about.
    pub prices: PriceBook,
    /// `--model`: instead of what the file names.
    pub model_override: Option<String>,
    /// The model of agents that name none, by their provider; the first counts.
    pub models: Vec<(ProviderSettings, String)>,
    /// What is known of providers.
    pub services: Services,
    /// Every answer comes from a file: nothing is paid, and no model is needed.
    pub asks_nobody: bool,
    /// Answers every agent, whatever its file and the command line name; models and prices stay those of the provider that they name.
    pub answered_by: Option<ProviderSettings>,
    /// What bounds pipelines besides their manifests.
    pub caps: Caps,
    /// What the configuration says about calls that a person must allow.
    pub approvals: Option<Approvals>,
    /// What holds for execution manifests that say nothing of their own.
    pub manifests: ManifestDefaults,
    /// Budgets of the configuration that go on with cheaper models.
    pub degrades: Vec<Degrade>,
}

/// A plan, or why there is none.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// Present when there is no error.
    pub plan: Option<Plan>,
    /// Everything that was found, by file and place.
    pub diagnostics: Vec<Diagnostic>,
}

impl Compiled {
    /// How many findings are errors.
    pub fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|found| found.severity == Severity::Error).count()
    }
}

/// Reads, checks and compiles a workflow file and everything it refers to.
pub fn compile(path: &str, sources: &dyn Sources, options: &Options) -> Compiled {
    let mut diagnostics = Vec::new();
    let mut bundle = load::load(path, sources, &options.manifests, &mut diagnostics);
    own::settle(&mut bundle, &mut diagnostics);
    own_policies::collect(&mut bundle, sources, &mut diagnostics);
    let sources = &secrets::Kept::new(&bundle, sources);
    let partials = partials::collect(&bundle, sources, &mut diagnostics);
    let skills = skills::collect(&bundle, sources, &mut diagnostics);
    for workflow in &bundle.workflows {
        diagnostics.extend(check::check(workflow, &partials.texts));
    }
    calls::check(&bundle, &mut diagnostics);
    servers::check(&bundle, &mut diagnostics);
    programs::check(&bundle, options, &mut diagnostics);
    if !options.asks_nobody {
        prices::check(&bundle, options, &mut diagnostics);
    }
    phase::check(&bundle, &options.caps, &mut diagnostics);
    constraints::check(&bundle, &options.degrades, &mut diagnostics);
    clearances::check(&bundle, options, &mut diagnostics);
    secrets::check(&bundle, &mut diagnostics);
    sort(&mut diagnostics, path);
    say_once(&mut diagnostics);
    consequences::leave_out(&mut diagnostics);
    let refused =
        bundle.workflows.is_empty() || diagnostics.iter().any(|found| found.severity == Severity::Error);
    if refused {
        return Compiled { plan: None, diagnostics };
    }
    let mut plan = build::build(&bundle, partials, &skills, options);
    settle(&mut plan, options);
    let before = diagnostics.len();
    if !options.asks_nobody {
        models::check(&bundle, &plan, options, &mut diagnostics);
        prices::check_prices(&bundle, &plan, options, &mut diagnostics);
    }
    let plan = (diagnostics.len() == before).then_some(plan);
    sort(&mut diagnostics, path);
    Compiled { plan, diagnostics }
}

/// Gives agents the models that follow from their providers, and the windows and prices of those models.
fn settle(plan: &mut Plan, options: &Options) {
    models::give(plan, options);
    windows::give(plan, options);
    prices::give(plan, options);
    if let Some(only) = &options.answered_by {
        provider::ask_only(plan, only);
    }
}

/// What holds for two models of one step is found twice, at the place where it is written once; what is wrong with the text of a
/// persona, for each node that plays it.
fn say_once(diagnostics: &mut Vec<Diagnostic>) {
    let mut said = HashSet::new();
    diagnostics.retain(|found| {
        let place = found.labels.first().map(|label| (label.span.file.path.clone(), label.span.range.start));
        said.insert((found.code, without_name(&found.message).to_owned(), place))
    });
}

/// A message without the node that it is about.
fn without_name(message: &str) -> &str {
    let named = message.starts_with("node `").then(|| message.split_once("`: ")).flatten();
    named.map_or(message, |(_, what)| what)
}

/// The root file first, then by path; within a file from top to bottom.
fn sort(diagnostics: &mut [Diagnostic], root: &str) {
    diagnostics.sort_by_key(|found| match found.labels.first() {
        Some(label) => {
            let path = label.span.file.path.clone();
            (path != root, path, label.span.range.start)
        }
        None => (false, String::new(), 0),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceReadError;

    /// One file, whatever is read.
    pub(super) struct Only(pub(super) &'static str);

    impl Sources for Only {
        fn read(&self, _: &str) -> Result<Vec<u8>, SourceReadError> {
            Ok(self.0.as_bytes().to_vec())
        }
        fn env(&self, _: &str) -> Option<String> {
            None
        }
    }

    #[test]
    fn what_is_wrong_with_a_persona_is_said_once_whoever_plays_it() {
        let text = "
schemaVersion: '1'
personas:
  - {id: p, displayName: P, systemPromptTemplate: 'You {{ nothing.here }}'}
  - {id: q, displayName: Q, systemPromptTemplate: 'I {{ attempt'}
topologies: []
pipeline:
  entryNodeId: a
  nodes:
    - {id: a, actorId: m, personaId: p, task: 'Do {{ neither.here }}'}
    - {id: b, actorId: m, personaId: p, task: 'Do {{ neither.here }}'}
    - {id: c, actorId: m, personaId: q}
    - {id: d, actorId: m, personaId: q}
  edges: [{from: a, to: b}, {from: b, to: c}, {from: c, to: d}]
";
        let found = compile("w.yaml", &Only(text), &Options::default()).diagnostics;
        let told: Vec<&str> = found.iter().map(|found| without_name(&found.message)).collect();
        let about = |words: &str| told.iter().filter(|message| message.contains(words)).count();
        assert_eq!((about("`nothing`"), about("cannot be read")), (1, 1), "{told:#?}");
        // Each task is a text of its own, but the name that both miss is one.
        assert_eq!(about("`neither`"), 1, "{told:#?}");
    }
}
