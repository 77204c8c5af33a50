//! The context windows of well-known models.
//!
//! A model's name may come from the file, the configuration or the command line, so the window is looked up once the name is
//! settled, and again whenever it changes. A prompt is made once for all models that may answer it, so an agent has the smallest
//! of their windows: of its own model, of those after it, and of those that a budget around it goes on with. A window that the
//! file states holds for any of them. Graders and repairers get requests of their own, which `agent` measures by their windows.

use super::super::{Degrade, DegradeOf, Options};
use crate::plan::{Agent, Kind, NodeIx, Plan, Text, WorkflowIx, nodes_below, nodes_in, nodes_of_tenant};
use convoke_model::catalog::known_window;
use convoke_model::{Budget, Capabilities, WhenSpent, WindowSource};
use std::collections::HashMap;
use std::sync::Arc;

/// Gives each agent the window of its models where the file states none.
pub(in crate::compile) fn give(plan: &mut Plan, options: &Options) {
    let (cheaper, mut windows) = (cheaper_models(plan, options), Windows::default());
    for (workflow, nodes) in plan.workflows.iter_mut().map(|workflow| &mut workflow.nodes).enumerate() {
        for (at, node) in nodes.iter_mut().enumerate() {
            let Kind::Agent(agent) = &mut node.kind else { continue };
            let place = (WorkflowIx(workflow as u32), NodeIx(at as u32));
            let (window, source) = match agent.settings.capabilities.window_source {
                WindowSource::Stated => continue,
                _ => windows.smallest(agent, cheaper.get(&place).map_or(&[], Vec::as_slice)),
            };
            let bounds = &agent.settings.capabilities;
            if (bounds.context_window, bounds.window_source) != (window, source) {
                let bounds = &mut Arc::make_mut(&mut agent.settings).capabilities;
                (bounds.context_window, bounds.window_source) = (window, source);
            }
        }
    }
}

/// Windows by provider and model. The table is long, and many agents ask the same model.
#[derive(Default)]
struct Windows(HashMap<(String, String), Option<u64>>);

impl Windows {
    /// The smallest window of the models that may answer. One that is not known has the guess; only a known one binds.
    fn smallest(&mut self, agent: &Agent, cheaper: &[String]) -> (u64, WindowSource) {
        let guess = (Capabilities::default().context_window, WindowSource::Guess);
        let provider = &agent.settings.provider.name;
        let own = match &agent.model {
            Some(Text::Literal(model)) => Some(&**model),
            _ => None,
        };
        let others = agent.settings.fallback.iter().flat_map(|fallback| &fallback.models).chain(cheaper);
        let models = std::iter::once(own).chain(others.map(|model| Some(model.as_str())));
        let windows = models.map(|model| match model.and_then(|model| self.of_model(provider, model)) {
            Some(window) => (window, WindowSource::Model),
            None => guess,
        });
        windows.min_by_key(|(window, source)| (*window, *source == WindowSource::Guess)).unwrap_or(guess)
    }

    fn of_model(&mut self, provider: &str, model: &str) -> Option<u64> {
        let name = (provider.to_owned(), model.to_owned());
        *self.0.entry(name).or_insert_with(|| known_window(provider, model))
    }
}

/// The models that budgets go on with, by the nodes that these budgets pay for.
fn cheaper_models(plan: &Plan, options: &Options) -> HashMap<(WorkflowIx, NodeIx), Vec<String>> {
    let mut models: HashMap<_, Vec<String>> = HashMap::new();
    let mut add = |model: &str, nodes: Vec<(WorkflowIx, NodeIx)>| {
        for place in nodes {
            models.entry(place).or_default().push(model.to_owned());
        }
    };
    for (ix, workflow) in plan.workflows.iter().enumerate() {
        let ix = WorkflowIx(ix as u32);
        if let Some(model) = workflow.limits.budget.as_ref().and_then(goes_on_with) {
            add(model, nodes_in(plan, ix));
        }
        for (at, node) in workflow.indexed() {
            if let Some(model) = node.budget.as_ref().and_then(goes_on_with) {
                add(model, nodes_below(plan, ix, at));
            }
        }
    }
    for degrade in options.degrades.iter().filter(|degrade| binds(degrade, plan)) {
        let nodes = match &degrade.of {
            DegradeOf::Tenant(name) => nodes_of_tenant(plan, name),
            DegradeOf::Day | DegradeOf::Run => nodes_in(plan, WorkflowIx(0)),
        };
        add(&degrade.model, nodes);
    }
    models
}

fn goes_on_with(budget: &Budget) -> Option<&str> {
    match &budget.when_spent {
        WhenSpent::Degrade(model) if !budget.audit => Some(model),
        _ => None,
    }
}

/// A budget of the configuration for runs is of use only where the file has none.
fn binds(degrade: &Degrade, plan: &Plan) -> bool {
    degrade.of != DegradeOf::Run || plan.root().limits.budget.is_none()
}
