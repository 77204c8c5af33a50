//! What an organisation says of its roles, for files that name one: `role: org:FILE#ROLE`.

use super::chart::{Chart, Role};
use super::manifest::server_entry;
use super::{Text, load};
use crate::vocab;
use convoke_plan::source::{Organisation, OrganisationRole};
use convoke_plan::{Diagnostic, Severity};

/// The roles that a file describes; or its errors, at their places.
pub fn roles(text: &Text) -> Result<Organisation, Vec<Diagnostic>> {
    let (organisation, found) = load(std::slice::from_ref(text));
    let Some(organisation) = organisation else {
        return Err(found.into_iter().filter(|one| one.severity == Severity::Error).collect());
    };
    let chart = &organisation.chart;
    let roles = chart.roles.iter().map(|(iri, role)| described(chart, iri, role)).collect();
    Ok(Organisation { company: chart.company.clone(), roles })
}

fn described(chart: &Chart, iri: &str, role: &Role) -> OrganisationRole {
    let word = |name: &str| role.words.get(name).cloned();
    let number = |name: &str| word(name).and_then(|number| number.parse().ok());
    let department = role.departments.first().and_then(|iri| Some((iri, chart.departments.get(iri)?)));
    let servers = || role.servers.iter().filter_map(|iri| chart.servers.get(iri));
    let whole = servers().map(|server| format!("{}__*", server.name));
    let mut names = vec![role.id.clone(), vocab::local(iri).to_owned(), iri.to_owned()];
    names.extend(role.label.clone());
    OrganisationRole {
        iri: iri.to_owned(),
        names,
        label: role.label.clone(),
        department: department.map(|(iri, department)| (iri.clone(), department.name.clone())),
        task: word("task"),
        system_prompt: word("systemPrompt"),
        success_criteria: word("successCriteria"),
        model: role.model.clone(),
        tools: whole.chain(role.tools.iter().cloned()).collect(),
        servers: servers().map(|server| (server.name.clone(), server_entry(server))).collect(),
        timeout_seconds: number("timeoutSeconds"),
        max_retries: number("maxRetries"),
        max_tokens: number("maxTokens"),
        budget_usd: word("budgetUsd").and_then(|usd| usd.parse().ok()),
    }
}
