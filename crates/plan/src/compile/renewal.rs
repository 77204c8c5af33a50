//! A plan that is made already, as it goes on: with what is chosen, configured and reachable now.
//!
//! Here and nowhere else is a finished plan changed. What was asked stays as it was, so finished tasks stay finished.

use super::{Options, agent, provider, settle};
use crate::plan::{Kind, Plan};
use convoke_model::Written;
use std::sync::Arc;

/// Prepares a stored plan for going on with what is chosen and configured now. It changes which model answers and how far the run may
/// go.
pub fn renew(plan: &mut Plan, options: &Options) {
    if let Some(chosen) = &options.provider_override {
        provider::ask_only(plan, &provider::addressed(options, chosen.clone()));
    }
    plan.bound_by(&options.caps);
    if let Some(stated) = &options.approvals {
        agent::ask_about_more(plan, stated);
    }
    settle(plan, options);
}

/// The plan of before, with addresses and keys as the environment of now has them: a service may have moved. Both are made of the same
/// texts.
pub fn with_addresses_of(mut before: Plan, now: &Plan) -> Plan {
    for (old, new) in before.workflows.iter_mut().zip(&now.workflows) {
        for (node, fresh) in old.nodes.iter_mut().zip(&new.nodes) {
            readdress(&mut node.kind, &fresh.kind);
        }
    }
    before
}

fn readdress(kind: &mut Kind, fresh: &Kind) {
    match (kind, fresh) {
        (Kind::Agent(agent), Kind::Agent(fresh)) => {
            let settings = Arc::make_mut(&mut agent.settings);
            settings.servers = fresh.settings.servers.clone();
            // Another name means that `-p` chose the provider then; that choice stands.
            if settings.provider.name == fresh.settings.provider.name {
                settings.provider = fresh.settings.provider.clone();
            }
        }
        (Kind::Tool(tool), Kind::Tool(fresh)) => tool.servers = fresh.servers.clone(),
        _ => {}
    }
}

/// Gives the budget of a plan whose text a person did not write the names under which it was stated.
pub fn name_budget(plan: &mut Plan, written: Written) {
    if let Some(budget) = plan.workflows.first_mut().and_then(|root| root.limits.budget.as_mut()) {
        budget.written = written;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Only;
    use super::super::{compile, renew};
    use super::*;

    fn agent(plan: &Plan) -> &convoke_model::ProviderSettings {
        match &plan.root().nodes[0].kind {
            Kind::Agent(agent) => &agent.settings.provider,
            other => panic!("{}", other.word()),
        }
    }

    fn plan(text: &'static str) -> Plan {
        let compiled = compile("w.yaml", &Only(text), &Options::default());
        compiled.plan.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics))
    }

    const THEN: &str = "workflow: {name: w, entry_point: a, runtime: {provider: {name: vllm, base_url: 'http://then/v1'}, default_model: m}}
agents: [{name: a, prompt: p}]
";
    const NOW: &str = "workflow: {name: w, entry_point: a, runtime: {provider: {name: vllm, base_url: 'http://now/v1'}, default_model: m}}
agents: [{name: a, prompt: p}]
";

    #[test]
    fn a_service_that_moved_is_asked_where_it_is() {
        let moved = with_addresses_of(plan(THEN), &plan(NOW));
        assert_eq!(agent(&moved).base_url.as_deref(), Some("http://now/v1"));
    }

    #[test]
    fn a_provider_that_was_chosen_then_stays() {
        let mut before = plan(THEN);
        let chosen = convoke_model::ProviderSettings { name: "scripted".into(), ..Default::default() };
        renew(&mut before, &Options { provider_override: Some(chosen), ..Options::default() });
        assert_eq!(agent(&with_addresses_of(before, &plan(NOW))).name, "scripted");
    }
}
