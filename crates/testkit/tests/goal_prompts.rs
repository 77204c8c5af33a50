//! What the templates of a goal's roles see, also of what does not apply.

use convoke_model::{Assignment, Work};
use convoke_testkit::{Behaviour, Ended, World, plan_of};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

fn says(id: &str) -> Value {
    match id {
        "g/plan[1]" => {
            json!({"tasks": [{"id": "a", "description": "do a", "inputs": [], "tools": [], "skip_probability": 0}]})
        }
        "g/finalise[1]" => json!({"message": "m", "next_steps": "", "issues": "", "reason": "r"}),
        _ => json!({"result": "r", "summary": "s", "goal_achieved": true, "reason": "seen"}),
    }
}

/// How a goal with this prompt for a role ends, and the prompt as it was rendered.
fn run(role: &str, prompt: &str) -> (Ended, Option<String>) {
    let text = format!(
        "
workflow: {{name: w, entry_point: g, runtime: {{provider: scripted}}}}
agents:
  - name: g
    type: goal
    goal: write the report
    roles: {{{role}: {{prompt: {prompt:?}}}}}
output: {{answer: '{{{{ g.output.status }}}}'}}
"
    );
    let seen = Rc::new(RefCell::new(None));
    let (heard, wanted) = (seen.clone(), format!("/{role}[1]"));
    let script = move |assignment: &Assignment| {
        let Work::Agent(call) = &assignment.work else { panic!("only models are asked here") };
        let id = assignment.task.to_string();
        if id.ends_with(&wanted) {
            *heard.borrow_mut() = Some(call.prompt.clone());
        }
        Behaviour::gives(Duration::from_millis(10), says(&id))
    };
    let ended = World::new(plan_of(&text, &[]), json!({}), 4, 1, Box::new(script)).finish();
    let seen = seen.borrow().clone();
    (ended, seen)
}

#[test]
fn what_does_not_apply_is_empty_and_false() {
    let all = "[{{ item.id }}|{{ item.description }}|{{ item.depth }}|{{ failure.class }}|{{ failure.strategies | join }}|{{ note }}]\
               {% if failure %}failed{% endif %}{% if item %} a task{% endif %}{% for tool in item.tools %}{{ tool }}{% endfor %}";
    assert_eq!(run("plan", all).1.as_deref(), Some("[||0|||]"));
    assert_eq!(run("execute", all).1.as_deref(), Some("[1|do a|0|||] a task"));
}

#[test]
fn a_prompt_that_cannot_be_rendered_names_the_role_and_where_it_stands() {
    let (ended, _) = run("execute", "{{ failure.clas }}");
    let failure = ended.failure.expect("it failed");
    assert!(failure.message.contains("step `g/execute`: prompt"), "{}", failure.message);
    assert!(!failure.message.contains('$'), "{}", failure.message);
}
