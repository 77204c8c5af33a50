//! A workflow of one goal, made from a request on the command line: what `convoke goal` runs.
//!
//! Texts of people stand for themselves, whatever they look like; prompts are templates, and settings of servers keep
//! their references. Invariant: what is made, printed and saved, runs unchanged.

use super::yaml;
use crate::source::escape::template as literal;
use crate::value::{SetType, read_set};
use convoke_model::Role;
use serde_json::{Map, Value, json};

/// The name of the step; its plan and its tasks go by it.
pub const STEP: &str = "goal";

/// What is known about a goal before it runs.
#[derive(Debug, Clone, Default)]
pub struct GoalRequest {
    /// What is to be reached.
    pub goal: String,
    /// Further information for the planner.
    pub context: Option<String>,
    /// A plan that a person has written or approved, as YAML.
    pub plan: Option<String>,
    /// Keys of the step, as in a file: `max_depth`, `tools`, `policies`, `approve` …
    pub keys: Map<String, Value>,
    /// Prompts instead of ours: templates.
    pub prompts: Vec<(Role, String)>,
    /// The model of every role.
    pub model: Option<String>,
    /// `runtime.mcp_servers`.
    pub servers: Map<String, Value>,
    /// `workflow.limits`.
    pub limits: Map<String, Value>,
}

impl GoalRequest {
    /// The workflow as a file.
    pub fn yaml(&self) -> String {
        let mut workflow = json!({ "name": STEP, "entry_point": STEP });
        let mut runtime = Map::new();
        if let Some(model) = &self.model {
            runtime.insert("default_model".into(), json!(model));
        }
        if !self.servers.is_empty() {
            runtime.insert("mcp_servers".into(), json!(self.servers));
        }
        for (key, table) in [("runtime", &runtime), ("limits", &self.limits)] {
            if !table.is_empty() {
                workflow[key] = json!(table);
            }
        }
        yaml::print(&json!({ "workflow": workflow, "agents": [self.step()], "output": self.output() }))
    }

    fn step(&self) -> Value {
        let mut step = json!({ "name": STEP, "type": "goal", "goal": literal(&self.goal) });
        if let Some(context) = &self.context {
            step["context"] = json!(literal(context));
        }
        for (key, value) in &self.keys {
            step[key.as_str()] = value.clone();
        }
        for (role, prompt) in &self.prompts {
            step["roles"][role.word()]["prompt"] = json!(prompt);
        }
        if let Some(plan) = &self.plan {
            step["plan"] = json!(literal(plan));
        }
        step
    }

    /// What the workflow gives: the answer, or the plan where only that is wanted.
    fn output(&self) -> Value {
        let field = |name: &str| format!("{{{{ {STEP}.output.{name} | tojson }}}}");
        let only_plans = self.keys.get("plan_only") == Some(&Value::Bool(true));
        let names: &[&str] = match only_plans {
            true => &["tasks", "complete"],
            false => &["status", "message", "next_steps", "issues", "reason", "tasks", "usage"],
        };
        names.iter().map(|name| ((*name).to_owned(), json!(field(name)))).collect::<Map<_, _>>().into()
    }
}

/// The workflow of a request, with further keys and other limits; everything else stays as it is.
///
/// `None` if the text is none that was made here.
pub fn restated(
    made: &str,
    keys: &Map<String, Value>,
    limits: impl FnOnce(Map<String, Value>) -> Map<String, Value>,
) -> Option<String> {
    let mut document = read_set(made, SetType::Dict).ok()?;
    let step = document.get_mut("agents")?.get_mut(0)?.as_object_mut()?;
    step.extend(keys.clone());
    let workflow = document.get_mut("workflow")?.as_object_mut()?;
    let before = workflow.get("limits").and_then(Value::as_object).cloned();
    match limits(before.unwrap_or_default()) {
        none if none.is_empty() => drop(workflow.shift_remove("limits")),
        some => drop(workflow.insert("limits".into(), json!(some))),
    }
    Some(yaml::print(&document))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::{Options, compile};
    use crate::plan::{Kind, Plan, Text};
    use crate::source::{SourceReadError, Sources};
    use crate::template::{Renderer, from_json};
    use proptest::prelude::*;

    struct Only(String);

    impl Sources for Only {
        fn read(&self, _: &str) -> Result<Vec<u8>, SourceReadError> {
            Ok(self.0.clone().into_bytes())
        }
        fn env(&self, name: &str) -> Option<String> {
            (name == "K").then(|| "key".to_owned())
        }
    }

    fn compiled(request: &GoalRequest) -> crate::compile::Compiled {
        compile("goal:", &Only(request.yaml()), &Options::default())
    }

    #[test]
    fn what_is_made_compiles_without_a_finding() {
        let mut request =
            GoalRequest { goal: "find out {{ what }} costs ${HOME}".into(), ..GoalRequest::default() };
        request.context = Some("a: b\n- {% c %}".into());
        request.prompts = vec![(Role::Plan, "plan {{ goal }} with {{ tools }}".into())];
        request.keys.insert("max_depth".into(), json!(2));
        request.keys.insert("approve".into(), json!(true));
        request.plan = Some("tasks: [{id: a, description: 'x {{ y }}'}]".into());
        request.limits.insert("budget_usd".into(), json!(2.5));
        request.model = Some("m".into());
        let made = compiled(&request);
        assert!(made.diagnostics.is_empty(), "{:#?}\n{}", made.diagnostics, request.yaml());
        let plan = made.plan.expect("it compiles");
        let Kind::Goal(goal) = &plan.root().nodes[0].kind else { panic!("a goal") };
        assert_eq!((goal.bounds.max_depth, goal.approve), (2, true));
        assert!(matches!(&goal.goal, Text::Template(_)));
    }

    /// What a text of the plan gives when it is rendered.
    fn said(plan: &Plan, text: &Text) -> String {
        match text {
            Text::Literal(text) => text.to_string(),
            Text::Template(id) => {
                let renderer = Renderer::new(&plan.templates, &plan.conditions, &plan.partials);
                renderer.render(*id, from_json(&json!({}))).expect("it renders")
            }
        }
    }

    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof!["\\PC{1,30}", "[a-z{}%#$ \\n\\t:'\"|>&*!?`@\\-]{1,30}"]
            .prop_filter("it says something", |text| !text.trim().is_empty())
    }

    proptest! {
        /// The text is the form in which a run stores its goal. Nothing that a person said is lost on the way.
        #[test]
        fn words_of_people_reach_the_plan_as_they_are(
            goal in any_text(),
            context in any_text(),
            description in any_text(),
            max_tasks in 1u64..10_000,
            stated in any::<[bool; 4]>(),
        ) {
            let [with_context, with_plan, approve, only_plan] = stated;
            let plan = json!({"tasks": [{"id": "a", "description": description}]}).to_string();
            let mut request = GoalRequest {
                goal: goal.clone(),
                context: with_context.then(|| context.clone()),
                plan: with_plan.then(|| plan.clone()),
                ..GoalRequest::default()
            };
            request.keys.insert("max_tasks".into(), json!(max_tasks));
            request.keys.insert("approve".into(), json!(approve && !only_plan));
            request.keys.insert("plan_only".into(), json!(only_plan));
            let made = compiled(&request);
            prop_assert!(made.diagnostics.is_empty(), "{:#?}\n{}", made.diagnostics, request.yaml());
            let compiled = made.plan.expect("it compiles");
            let Kind::Goal(step) = &compiled.root().nodes[0].kind else { panic!("a goal") };
            prop_assert_eq!(said(&compiled, &step.goal), goal);
            let texts = |text: &Option<Text>| text.as_ref().map(|text| said(&compiled, text));
            prop_assert_eq!(texts(&step.context), with_context.then_some(context));
            prop_assert_eq!(texts(&step.plan), with_plan.then_some(plan));
            prop_assert_eq!(u64::from(step.bounds.max_tasks), max_tasks);
            prop_assert_eq!((step.approve, step.plan_only), (approve && !only_plan, only_plan));
        }
    }

    #[test]
    fn what_is_stated_anew_differs_in_that_alone() {
        let mut request = GoalRequest {
            goal: "find out {{ what }} costs ${HOME}\n\n  - yes: 007\n".into(),
            plan: Some("tasks: [{id: a, description: 'x {{ y }}'}]".into()),
            prompts: vec![(Role::Plan, "plan {{ goal }}\n  with {{ tools }}\n".into())],
            ..GoalRequest::default()
        };
        request
            .servers
            .insert("files".into(), json!({"command": "server", "env": {"K": "${K}", "N": "007"}}));
        request.limits.insert("budget_usd".into(), json!(2.5));
        let (none, before) = (Map::new(), request.yaml());
        assert_eq!(restated(&before, &none, |limits| limits).as_deref(), Some(&*before));
        let keys = json!({"max_tasks": 7}).as_object().cloned().unwrap();
        let limits = json!({"budget_tokens": 9}).as_object().cloned().unwrap();
        let now = restated(&before, &keys, |_| limits.clone());
        (request.keys, request.limits) = (keys, limits);
        let plain = |text: &str| read_set(text, SetType::Dict).unwrap();
        assert_eq!(now.map(|text| plain(&text)), Some(plain(&request.yaml())));
    }

    #[test]
    fn a_goal_that_is_only_planned_gives_a_plan_without_a_finding() {
        let mut request = GoalRequest { goal: "count".into(), ..GoalRequest::default() };
        request.keys.insert("plan_only".into(), json!(true));
        let made = compiled(&request);
        assert!(made.diagnostics.is_empty(), "{:#?}", made.diagnostics);
    }

    #[test]
    fn scripts_and_servers_are_tools_by_name() {
        let mut request = GoalRequest { goal: "count".into(), ..GoalRequest::default() };
        let count = json!({"command": "wc", "args": ["-w"], "input": {"type": "object"}});
        request.servers.insert("scripts".into(), json!({"type": "scripts", "scripts": {"count": count}}));
        request.servers.insert("files".into(), json!({"command": "server", "env": {"K": "v"}}));
        let made = compiled(&request);
        assert!(made.diagnostics.is_empty(), "{:#?}", made.diagnostics);
        let plan = made.plan.expect("it compiles");
        let Kind::Goal(goal) = &plan.root().nodes[0].kind else { panic!("a goal") };
        assert_eq!(goal.tools, ["scripts__count", "files__*"]);
        assert_eq!(goal.allowed("count"), ["scripts__count", "files__count"]);
        assert!(goal.allowed("other__count").is_empty());
    }
}
