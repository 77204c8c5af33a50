//! What agents are given: retries, models, tools, criteria; and what puts their answers together.

use crate::manifests::kit::{agent, agents, errors, node, plan, reduce, text};
use crate::manifests::world::{compiled, findings, shown};
use convoke_plan::*;

#[test]
fn retries_and_bounds_are_what_was_stated() {
    let plan = plan(
        "max_retries: 4\nagents:\n  - {id: a, task: t, max_retries: 0, timeout: 30}\n  - {id: b, task: t}\n  - {id: c, task: t, retry: {max_attempts: 2}}\n",
    );
    assert_eq!(node(&plan, "a").retry.max_attempts, 1);
    assert_eq!(node(&plan, "a").timeout, Some(Span::Millis(30_000)));
    assert_eq!(node(&plan, "b").retry.max_attempts, 5);
    assert!(node(&plan, "b").retry.on.contains(convoke_model::Class::InvalidOutput));
    assert_eq!(node(&plan, "c").retry.max_attempts, 2);
    assert_eq!(agent(&plan, "b").settings.session_timeout, Some(std::time::Duration::from_secs(120)));
    let silent = self::plan(&agents(2));
    assert_eq!(node(&silent, "a0").retry, convoke_model::Retry::agent_default());
    assert_eq!(silent.root().limits.max_concurrency, Some(60));
}

#[test]
fn models_are_named_by_themselves_by_service_or_by_role() {
    let plan = plan(
        "model: openai:base\nmodel_roles: {fast: 'anthropic:small', odd: plain}\nagents:\n  - {id: a, task: t, model_id: 'google:big'}\n  - {id: b, task: t, model_role: fast}\n  - {id: c, task: t, model_role: odd, model: 'llama3:8b'}\n  - {id: d, task: t}\n",
    );
    let of = |name: &str| {
        let agent = agent(&plan, name);
        (
            agent.settings.provider.name.clone(),
            agent.model.as_ref().map(|model| text(&plan, model).to_owned()),
        )
    };
    assert_eq!(of("a"), ("gemini".to_owned(), Some("big".to_owned())));
    assert_eq!(of("b"), ("anthropic".to_owned(), Some("small".to_owned())));
    assert_eq!(of("c"), ("openai".to_owned(), Some("llama3:8b".to_owned())));
    assert_eq!(of("d"), ("openai".to_owned(), Some("base".to_owned())));
}

#[test]
fn pe_11_a_role_without_a_model_is_never_an_error() {
    let result =
        compiled("agents:\n  - {id: a, task: t, model_role: nobody}\n  - {id: b, task: t, model_role: ''}\n");
    assert!(result.plan.is_some(), "{}", shown(&result));
    assert_eq!(findings(&result), [("workflow::no_effect", 2)]);
}

#[test]
fn criteria_are_judged_only_where_the_manifest_says_so() {
    let text = "agents:\n  - {id: a, task: t, success_criteria: be brief}\n  - {id: b, task: t}\n";
    let silent = plan(text);
    assert!(agent(&silent, "a").settings.success_criteria.is_none(), "PE-5");
    assert!(self::text(&silent, &agent(&silent, "a").prompt).contains("be brief"));
    for on in ["verify: criteria\n", "metadata: {verify: true}\n", "verify: true\n", "verify: {rounds: 1}\n"]
    {
        let plan = plan(&format!("{on}{text}"));
        assert!(agent(&plan, "a").settings.success_criteria.is_some(), "{on}");
        let examined = plan.root().nodes.iter().any(|node| &*node.name == "verification");
        assert_eq!(examined, !on.contains("criteria") && !on.contains("metadata"), "{on}");
    }
}

#[test]
fn a_synthesis_may_be_of_some_and_by_any_strategy() {
    let plan = plan(
        "query: q\nagents:\n  - {id: a, role: thinker}\n  - {id: b, role: thinker}\n  - {id: c, depends_on: [a, b]}\nsynthesis: {of: [c], strategy: judge, model: m, instructions: 'mind {{ query }}'}\n",
    );
    let merged = reduce(&plan);
    assert_eq!(merged.of.iter().map(|node| &*plan.root().node(*node).name).collect::<Vec<_>>(), ["c"]);
    assert_eq!(merged.strategy, Strategy::Judge);
    assert!(text(&plan, merged.instructions.as_ref().unwrap()).starts_with("{% set query"));
    let all = self::plan(
        "agents:\n  - {id: a, task: t, role: x}\n  - {id: b, task: t, role: x}\n  - {id: c, task: t, role: y}\n",
    );
    let titles: Vec<_> = reduce(&all).titles.iter().flatten().map(String::as_str).collect();
    assert_eq!(titles, ["x (a)", "x (b)", "y"]);
    let unknown =
        compiled("agents:\n  - {id: abc, task: t}\n  - {id: b, task: t}\nsynthesis: {of: [abd, b]}\n");
    assert_eq!(findings(&unknown), [("workflow::unknown_value", 4)], "{}", shown(&unknown));
}

#[test]
fn an_agent_may_be_called_like_our_own_steps() {
    let plan = plan("verify: true\nagents:\n  - {id: synthesis, task: t}\n  - {id: verification, task: t}\n");
    assert!(matches!(node(&plan, "synthesis_").kind, Kind::Reduce(_)));
    assert!(matches!(node(&plan, "verification_").kind, Kind::Verify(_)));
}

#[test]
fn tools_may_be_servers() {
    let plan = plan(
        "mcp_servers: {files: {command: f}}\nagents:\n  - {id: a, task: t, tools: [files, files__read]}\n  - {id: b, task: t, tools: []}\n",
    );
    assert_eq!(
        agent(&plan, "a").settings.tools.as_deref(),
        Some(&["files__*".to_owned(), "files__read".to_owned()][..])
    );
    assert_eq!(agent(&plan, "b").settings.tools.as_deref(), Some(&[][..]));
}

#[test]
fn a_voter_whose_shape_has_no_vote_is_an_error() {
    let text = "query: q\ncoordination_protocol: voting\nagents:\n  - {id: a, output_schema: 'title, score'}\n  - {id: b, output_schema: 'vote, why'}\n";
    let found = compiled(text);
    assert_eq!(errors(&found), [("workflow::missing_key", 4)], "{}", shown(&found));
    assert!(shown(&found).contains("could only abstain"), "{}", shown(&found));
}

#[test]
fn votes_are_told_their_options_and_not_bound_to_them() {
    let plan = plan(
        "query: q\nteam: {protocol: voting, vote: {options: [ship, wait]}}\nagents: [{id: a}, {id: b}]\n",
    );
    let schema = agent(&plan, "a").settings.schema.clone().unwrap();
    assert!(schema.fields["vote"].choices.is_none());
    assert!(schema.fields["vote"].description.as_ref().unwrap().contains("ship, wait"));
}
