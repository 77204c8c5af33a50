//! What decides whether a step is the same as before, and what the items of a fan-out are known by.

use crate::answers::{node, plan};
use convoke_plan::plan::Kind;

#[test]
fn what_a_reduce_step_does_decides_its_hash() {
    let hash = |keys: &str| {
        let text = format!(
            "workflow: {{name: w}}\nagents:\n  - {{name: a, prompt: x}}\n  - {{name: b, prompt: x}}\n  - {{name: m, type: reduce, strategy: hierarchical, needs: [a, b], {keys}}}\n"
        );
        node(plan(&text).root(), "m").hash
    };
    assert_eq!(hash("description: other"), hash("description: words"));
    assert_ne!(hash("model: one"), hash("model: two"));
    assert_ne!(hash("of: [a, b]"), hash("of: [a]"));
    assert_ne!(hash("ratio: 5"), hash("ratio: 6"));
    let expects = |kind: &str| format!("expects: {{a: {{n: {{type: {kind}}}}}}}");
    assert_ne!(hash(&expects("string")), hash(&expects("number")));
    assert_ne!(hash(&expects("string")), hash(&format!("{}, repair_input: true", expects("string"))));
}

#[test]
fn items_are_values_whatever_they_look_like() {
    let hash = |items: &str| {
        let text = format!(
            "workflow: {{name: w, entry_point: e}}\nfor_each:\n  - {{name: e, type: for_each, items: {items}, as: it, agent: {{name: b, prompt: x}}}}\nagents: []\n"
        );
        node(plan(&text).root(), "e").hash
    };
    assert_ne!(hash("[{template: 99}]"), hash("[{template: 98}]"));
    assert_ne!(hash("[{when: 99, x: 1}]"), hash("[{when: 98, x: 1}]"));
}

#[test]
fn a_dot_is_the_item_itself() {
    let of = |key: &str| {
        let text = format!(
            "workflow: {{name: w, entry_point: e}}\nfor_each:\n  - {{name: e, type: for_each, items: [x, y], as: it, key_by: {key}, agent: {{name: b, prompt: x}}}}\nagents: []\n"
        );
        match &node(plan(&text).root(), "e").kind {
            Kind::ForEach(each) => each.key_by.clone(),
            kind => panic!("{}", kind.word()),
        }
    };
    assert_eq!(of("."), Some(vec![]));
    assert_eq!(of("id.name"), Some(vec!["id".to_owned(), "name".to_owned()]));
}
