//! Workflow files in memory.

use convoke_model::ProviderSettings;
use convoke_plan::Plan;
use convoke_plan::compile::{Options, compile};
use convoke_plan::source::{SourceReadError, Sources};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Files by path.
#[derive(Debug, Clone, Default)]
pub struct Files(pub BTreeMap<String, String>);

impl Sources for Files {
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceReadError> {
        self.0.get(path).map(|text| text.clone().into_bytes()).ok_or(SourceReadError::NotFound)
    }

    fn env(&self, _name: &str) -> Option<String> {
        None
    }
}

/// The plan of a workflow text, and of the files it refers to. Panics with the findings if it is refused.
pub fn plan_of(text: &str, others: &[(&str, &str)]) -> Arc<Plan> {
    let mut files = Files::default();
    files.0.insert("workflow.yaml".into(), text.into());
    files.0.extend(others.iter().map(|(path, text)| ((*path).into(), (*text).into())));
    let provider = ProviderSettings { name: "scripted".into(), ..ProviderSettings::default() };
    let options = Options { default_provider: Some(provider), ..Options::default() };
    let compiled = compile("workflow.yaml", &files, &options);
    let findings: Vec<_> =
        compiled.diagnostics.iter().map(|found| format!("{}: {}", found.code, found.message)).collect();
    Arc::new(compiled.plan.unwrap_or_else(|| panic!("refused: {findings:#?}\n{text}")))
}
