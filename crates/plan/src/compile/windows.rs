//! The context windows of well-known models.
//!
//! A model's name may come from the file, the configuration or the command line, so the window is looked up once the name is
//! settled, and again whenever it changes. A window that the file states holds for any model.

use crate::plan::{Agent, Kind, Plan, Text};
use convoke_model::catalog::known_window;
use convoke_model::{Capabilities, WindowSource};
use std::collections::HashMap;
use std::sync::Arc;

/// Gives each agent the window of its models where the file states none.
pub(super) fn give(plan: &mut Plan) {
    let mut windows = Windows::default();
    for node in plan.workflows.iter_mut().flat_map(|workflow| &mut workflow.nodes) {
        let Kind::Agent(agent) = &mut node.kind else { continue };
        let (window, source) = match windows.of_models(agent) {
            _ if agent.settings.capabilities.window_source == WindowSource::Stated => continue,
            Some(window) => (window, WindowSource::Model),
            None => (Capabilities::default().context_window, WindowSource::Guess),
        };
        let bounds = &agent.settings.capabilities;
        if (bounds.context_window, bounds.window_source) != (window, source) {
            let bounds = &mut Arc::make_mut(&mut agent.settings).capabilities;
            (bounds.context_window, bounds.window_source) = (window, source);
        }
    }
}

/// Windows by provider and model. The table is long, and many agents ask the same model.
#[derive(Default)]
struct Windows(HashMap<(String, String), Option<u64>>);

impl Windows {
    /// The smallest window of the models that may answer; `None` unless all are known.
    fn of_models(&mut self, agent: &Agent) -> Option<u64> {
        let Some(Text::Literal(first)) = &agent.model else { return None };
        let others = agent.settings.fallback.iter().flat_map(|fallback| &fallback.models);
        let models = std::iter::once(&**first).chain(others.map(String::as_str));
        let windows: Option<Vec<u64>> =
            models.map(|model| self.of_model(&agent.settings.provider.name, model)).collect();
        windows?.into_iter().min()
    }

    fn of_model(&mut self, provider: &str, model: &str) -> Option<u64> {
        let name = (provider.to_owned(), model.to_owned());
        *self.0.entry(name).or_insert_with(|| known_window(provider, model))
    }
}
