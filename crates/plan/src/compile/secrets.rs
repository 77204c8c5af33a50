//! Named secrets of a plan: from where each comes, for all its files together.
//!
//! A name means one thing in a whole plan, because whoever performs an attempt knows the plan and not the file. A name that a script or a
//! server lists without a declaration is the variable of that name.

use super::load::Bundle;
use crate::check::outline::Outline;
use crate::diagnostic::{Diagnostic, Label, SourceFile};
use crate::source::text::Spanned;
use crate::source::workflow::{SecretEntry, StepKind, Workflow};
use crate::source::{Entry, Organisation, OrganisationError, SourceReadError, Sources, join_beside};
use convoke_model::{SecretSource, is_secret_name};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// The sources of all secrets.
pub(super) fn sources(bundle: &Bundle) -> BTreeMap<String, SecretSource> {
    let listed = bundle.workflows.iter().flat_map(listed);
    let listed = listed.map(|name| (name.value.clone(), SecretSource::Env(name.value)));
    let declared = bundle.workflows.iter().flat_map(|workflow| {
        workflow.secrets.iter().map(|(name, entry)| (name.clone(), source(workflow, &entry.value)))
    });
    listed.chain(declared).collect()
}

fn source(workflow: &Workflow, entry: &SecretEntry) -> SecretSource {
    let texts = |names: &[Spanned<String>]| names.iter().map(|name| name.value.clone()).collect();
    match entry {
        SecretEntry { env: Some(name), .. } => SecretSource::Env(name.value.clone()),
        SecretEntry { file: Some(path), .. } => SecretSource::File(beside(workflow, &path.value)),
        SecretEntry { command: Some(argv), inherit, .. } => {
            SecretSource::Command { argv: texts(argv), inherit: texts(inherit) }
        }
        entry => SecretSource::Vault(entry.vault.as_ref().map(|name| name.value.clone()).unwrap_or_default()),
    }
}

/// A path from the home folder stays one: the plan knows no home.
fn beside(workflow: &Workflow, path: &str) -> String {
    if path.starts_with("~/") { path.to_owned() } else { join_beside(&workflow.path, path) }
}

/// Secrets that scripts and servers list.
fn listed(workflow: &Workflow) -> Vec<Spanned<String>> {
    let outline = Outline::new(workflow);
    let steps = workflow.agents.iter().chain(outline.inline().map(|(_, step)| step));
    let of_scripts = steps.filter_map(|step| match &step.kind {
        StepKind::Script(script) => script.secrets.as_ref(),
        _ => None,
    });
    let of_servers = workflow.runtime.mcp_servers.values().map(|entry| &entry.value.secrets);
    of_scripts.chain(of_servers).flatten().cloned().collect()
}

/// The world of texts that files include: what a file declares as a secret is one in them too.
pub(super) struct Kept<'a> {
    inner: &'a dyn Sources,
    names: HashSet<String>,
}

impl<'a> Kept<'a> {
    pub(super) fn new(bundle: &Bundle, inner: &'a dyn Sources) -> Kept<'a> {
        let sources = sources(bundle);
        let variables = sources.values().filter_map(|source| match source {
            SecretSource::Env(name) => Some(name.clone()),
            _ => None,
        });
        Kept { inner, names: variables.chain(sources.keys().cloned()).collect() }
    }
}

impl Sources for Kept<'_> {
    fn read(&self, path: &str) -> Result<Vec<u8>, SourceReadError> {
        self.inner.read(path)
    }

    fn list(&self, folder: &str) -> Result<Vec<Entry>, SourceReadError> {
        self.inner.list(folder)
    }

    fn env(&self, name: &str) -> Option<String> {
        self.inner.env(name)
    }

    fn is_secret(&self, name: &str) -> bool {
        self.names.contains(name) || self.inner.is_secret(name)
    }

    fn organisation(&self, file: &Arc<SourceFile>) -> Result<Organisation, OrganisationError> {
        self.inner.organisation(file)
    }
}

/// Names that mean two things, or nothing.
pub(super) fn check(bundle: &Bundle, findings: &mut Vec<Diagnostic>) {
    let mut known: BTreeMap<&str, (SecretSource, &Spanned<String>)> = BTreeMap::new();
    for workflow in &bundle.workflows {
        for (name, entry) in &workflow.secrets {
            let source = source(workflow, &entry.value);
            match known.get(name.as_str()) {
                Some((other, first)) if *other != source => findings.push(twice(&entry.key, first)),
                Some(_) => {}
                None => drop(known.insert(name, (source, &entry.key))),
            }
        }
        findings.extend(listed(workflow).iter().filter(|name| !is_secret_name(&name.value)).map(no_name));
    }
}

fn twice(second: &Spanned<String>, first: &Spanned<String>) -> Diagnostic {
    let message = format!("the secret `{}` comes from two places", second.value);
    let mut found = Diagnostic::error("workflow::duplicate", message, second.span.clone(), "here otherwise");
    found.labels.push(Label { span: first.span.clone(), text: "the first".into() });
    found.help("a name means one thing in a file and all below it: give one of the two another name")
}

fn no_name(name: &Spanned<String>) -> Diagnostic {
    let message = format!("a secret cannot be called `{}`", name.value);
    Diagnostic::error("workflow::bad_name", message, name.span.clone(), "not a name")
        .help("letters, digits and `_`, as in `SHOP_TOKEN`")
}
