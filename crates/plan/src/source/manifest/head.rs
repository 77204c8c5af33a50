//! What every kind of manifest says about its run: name, inputs, services, bounds.

use std::sync::Arc;

use indexmap::IndexMap;

use super::super::settings::Runtime;
use super::super::text::{Spanned, Text};
use super::super::workflow::{
    ContextSettings, Cost, Entry, Hooks, InputField, Labels, Limits, Names, SecretEntry, Workflow,
};
use crate::diagnostic::{SourceFile, Span};

/// The head of a manifest, as written.
#[derive(Debug, Clone)]
pub struct Head {
    /// Its name; `None` means the file's.
    pub name: Option<Spanned<String>>,
    /// What it is for.
    pub description: Option<Spanned<String>>,
    /// Its writer's version.
    pub version: Option<Spanned<String>>,
    /// Declared inputs; `None` when the file declares none.
    pub inputs: Option<IndexMap<String, Entry<InputField>>>,
    /// Provider, models, servers.
    pub runtime: Runtime,
    /// The names of all tools.
    pub tools: Option<Names>,
    /// Bounds of the run.
    pub limits: Limits,
    /// Prices.
    pub cost: Cost,
    /// What happens at start and end.
    pub hooks: Hooks,
    /// Put before every prompt.
    pub instructions: Vec<Text>,
    /// Of all agents or phases.
    pub labels: Labels,
    /// Named secrets.
    pub secrets: IndexMap<String, Entry<SecretEntry>>,
    /// Free words; in an execution manifest `manifest_id` and `source` among them.
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// Where the file begins.
    pub span: Span,
}

impl Head {
    /// A workflow with this head and no step.
    pub(in crate::source) fn workflow(
        &self,
        file: &Arc<SourceFile>,
        path: &str,
        files: &[Arc<SourceFile>],
    ) -> Workflow {
        Workflow {
            file: file.clone(),
            path: path.to_owned(),
            files: files.to_vec(),
            span: self.span.clone(),
            name: self.name.clone().unwrap_or_else(|| Spanned::new(stem(path), self.span.clone())),
            description: self.description.clone(),
            version: self.version.clone(),
            entry_point: Vec::new(),
            runtime: self.runtime.clone(),
            input: self.inputs.clone(),
            context: ContextSettings::default(),
            limits: self.limits.clone(),
            cost: self.cost.clone(),
            hooks: self.hooks.clone(),
            secrets: self.secrets.clone(),
            metadata: self.metadata.clone(),
            instructions: self.instructions.clone(),
            labels: self.labels.clone(),
            tools: self.tools.clone(),
            agents: Vec::new(),
            parallel: Vec::new(),
            for_each: Vec::new(),
            output: None,
            pipeline: None,
            from_manifest: false,
            role_servers: Vec::new(),
        }
    }
}

/// The name of a file without folder and ending.
fn stem(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    if stem.is_empty() { "manifest".to_owned() } else { stem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_name_has_the_name_of_its_file() {
        for (path, name) in [
            ("a/b.yaml", "b"),
            ("b.c.json", "b.c"),
            ("b", "b"),
            ("preset:x", "preset:x"),
            (".yaml", "manifest"),
        ] {
            assert_eq!(stem(path), name);
        }
    }
}
