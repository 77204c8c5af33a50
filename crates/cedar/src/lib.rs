//! Cedar policies, asked beside a policy file of Convoke (`cedar: FILE`).
//!
//! | Cedar | here |
//! |---|---|
//! | principal | `Persona::"reviewer"`, or `Step::"build"` for a step without a persona |
//! | action | `Command::Action::"git push"`, in `Command::Action::"git"` and `Action::"command"`; `Tool::Action::"write_file"`, in `Action::"tool"` |
//! | resource | `Path::"src/lib.rs"`, in the folders above it up to `Path::"."`; `Host::"https://docs.example:443"`; `Tool::"shell"` for a command itself |
//! | context | `contract` (the rights of the attempt), and `access` for paths: `look`, `read`, `write`, `replace` |
//!
//! As in Cedar, what no rule permits is denied, and `forbid` wins. Beyond that, an error while a rule is evaluated denies: Cedar itself
//! passes over a rule that fails, which could be the one that forbids. Pure: reads no file and no clock.

mod request;

use cedar_policy::{Authorizer, Decision, Effect, PolicyId, PolicySet};
use convoke_policy::{Actor, Answer, Authority, Question};
use std::sync::Arc;

/// The rules of one file.
pub struct Rules {
    source: String,
    policies: PolicySet,
}

/// Reads the text of a Cedar file; the error has every mistake, with its line.
pub fn read(text: &str) -> Result<Arc<dyn Authority>, String> {
    let policies: PolicySet = text.parse().map_err(|errors| mistakes(text, &errors))?;
    if policies.is_empty() {
        return Err("it has no rule, so everything would be denied".to_owned());
    }
    if policies.templates().next().is_some() {
        return Err(
            "it has a template, which nothing fills in; write the principal and the resource out".to_owned()
        );
    }
    Ok(Arc::new(Rules { source: text.to_owned(), policies }))
}

fn mistakes(text: &str, errors: &cedar_policy::ParseErrors) -> String {
    use miette::Diagnostic;
    let place = |error: &cedar_policy::ParseError| {
        let at = error.labels()?.next()?.offset();
        Some(format!("line {}: ", text.get(..at)?.matches('\n').count() + 1))
    };
    let one = |error| format!("{}{error}", place(error).unwrap_or_default());
    errors.iter().map(one).collect::<Vec<_>>().join("; ")
}

impl Rules {
    /// The name that its author gave a rule (`@id("…")`), or its place.
    fn name(&self, id: &PolicyId) -> String {
        let policy = self.policies.policy(id);
        let word = match policy.map(cedar_policy::Policy::effect) {
            Some(Effect::Forbid) => "forbidden",
            _ => "permitted",
        };
        let said = ["id", "reason", "advice"].iter().find_map(|key| policy?.annotation(key));
        format!("{word} by `{}`", said.map_or_else(|| id.to_string(), str::to_owned))
    }
}

impl Authority for Rules {
    fn answer(&self, actor: &Actor, question: &Question) -> Answer {
        let (request, entities) = match request::of(actor, question) {
            Ok(made) => made,
            Err(why) => return Answer { permitted: false, because: vec![why] },
        };
        let response = Authorizer::new().is_authorized(&request, &self.policies, &entities);
        let mut because: Vec<String> = response
            .diagnostics()
            .errors()
            .map(|error| format!("a rule cannot be evaluated: {error}"))
            .collect();
        let permitted = because.is_empty() && response.decision() == Decision::Allow;
        because.extend(response.diagnostics().reason().map(|id| self.name(id)));
        because.sort();
        Answer { permitted, because }
    }

    fn rules(&self) -> Vec<String> {
        let mut rules: Vec<_> = self.policies.policies().collect();
        rules.sort_by_key(|policy| policy.id().to_string());
        rules.iter().map(|policy| policy.to_string()).collect()
    }

    fn source(&self) -> &str {
        &self.source
    }
}

#[cfg(test)]
mod tests;
