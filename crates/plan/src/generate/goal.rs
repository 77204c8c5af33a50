//! A workflow of one goal, made from a sentence: what `convoke goal` runs.
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
pub struct Sentence {
    /// What is to be reached.
    pub goal: String,
    /// What whoever plans should know besides.
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

impl Sentence {
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

/// What was made from a sentence, with further keys and other limits; everything else stays as it is.
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
    use crate::plan::{Kind, Text};
    use crate::source::{SourceReadError, Sources};

    struct Only(String);

    impl Sources for Only {
        fn read(&self, _: &str) -> Result<Vec<u8>, SourceReadError> {
            Ok(self.0.clone().into_bytes())
        }
        fn env(&self, name: &str) -> Option<String> {
            (name == "K").then(|| "key".to_owned())
        }
    }

    fn compiled(sentence: &Sentence) -> crate::compile::Compiled {
        compile("goal:", &Only(sentence.yaml()), &Options::default())
    }

    #[test]
    fn what_is_made_compiles_without_a_finding() {
        let mut sentence =
            Sentence { goal: "find out {{ what }} costs ${HOME}".into(), ..Sentence::default() };
        sentence.context = Some("a: b\n- {% c %}".into());
        sentence.prompts = vec![(Role::Plan, "plan {{ goal }} with {{ tools }}".into())];
        sentence.keys.insert("max_depth".into(), json!(2));
        sentence.keys.insert("approve".into(), json!(true));
        sentence.plan = Some("tasks: [{id: a, description: 'x {{ y }}'}]".into());
        sentence.limits.insert("budget_usd".into(), json!(2.5));
        sentence.model = Some("m".into());
        let made = compiled(&sentence);
        assert!(made.diagnostics.is_empty(), "{:#?}\n{}", made.diagnostics, sentence.yaml());
        let plan = made.plan.expect("it compiles");
        let Kind::Goal(goal) = &plan.root().nodes[0].kind else { panic!("a goal") };
        assert_eq!((goal.bounds.max_depth, goal.approve), (2, true));
        assert!(matches!(&goal.goal, Text::Template(_)));
    }

    #[test]
    fn what_is_stated_anew_differs_in_that_alone() {
        let mut sentence = Sentence {
            goal: "find out {{ what }} costs ${HOME}\n\n  - yes: 007\n".into(),
            plan: Some("tasks: [{id: a, description: 'x {{ y }}'}]".into()),
            prompts: vec![(Role::Plan, "plan {{ goal }}\n  with {{ tools }}\n".into())],
            ..Sentence::default()
        };
        sentence
            .servers
            .insert("files".into(), json!({"command": "server", "env": {"K": "${K}", "N": "007"}}));
        sentence.limits.insert("budget_usd".into(), json!(2.5));
        let (none, before) = (Map::new(), sentence.yaml());
        assert_eq!(restated(&before, &none, |limits| limits).as_deref(), Some(&*before));
        let keys = json!({"max_tasks": 7}).as_object().cloned().unwrap();
        let limits = json!({"budget_tokens": 9}).as_object().cloned().unwrap();
        let now = restated(&before, &keys, |_| limits.clone());
        (sentence.keys, sentence.limits) = (keys, limits);
        let plain = |text: &str| read_set(text, SetType::Dict).unwrap();
        assert_eq!(now.map(|text| plain(&text)), Some(plain(&sentence.yaml())));
    }

    #[test]
    fn a_goal_that_is_only_planned_gives_a_plan_without_a_finding() {
        let mut sentence = Sentence { goal: "count".into(), ..Sentence::default() };
        sentence.keys.insert("plan_only".into(), json!(true));
        let made = compiled(&sentence);
        assert!(made.diagnostics.is_empty(), "{:#?}", made.diagnostics);
    }

    #[test]
    fn scripts_and_servers_are_tools_by_name() {
        let mut sentence = Sentence { goal: "count".into(), ..Sentence::default() };
        let count = json!({"command": "wc", "args": ["-w"], "input": {"type": "object"}});
        sentence.servers.insert("scripts".into(), json!({"type": "scripts", "scripts": {"count": count}}));
        sentence.servers.insert("files".into(), json!({"command": "server", "env": {"K": "v"}}));
        let made = compiled(&sentence);
        assert!(made.diagnostics.is_empty(), "{:#?}", made.diagnostics);
        let plan = made.plan.expect("it compiles");
        let Kind::Goal(goal) = &plan.root().nodes[0].kind else { panic!("a goal") };
        assert_eq!(goal.tools, ["scripts__count", "files__*"]);
        assert_eq!(goal.allowed("count"), ["scripts__count", "files__count"]);
        assert!(goal.allowed("other__count").is_empty());
    }
}
