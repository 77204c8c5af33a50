//! Named secrets: sources in the plan, references where they may stand, and nowhere else.

use crate::world::World;
use convoke_model::SecretSource;
use convoke_plan::{Kind, Severity};

const FILE: &str = r#"
workflow: {name: w, entry_point: step, runtime: {provider: scripted}}
secrets:
  TOKEN: {env: HELD_HERE}
  IN_FILE: {file: keys/db}
  PRINTED: {command: [pass, show, shop], inherit: [PASS_TOKEN]}
  KEPT: {vault: shop}
agents:
  - name: step
    type: script
    command: env
    secrets: [TOKEN, LISTED]
    env: {OWN: "x ${KEPT}"}
"#;

fn world(text: &str) -> World {
    World::default().file("main.yaml", text)
}

#[test]
fn a_plan_has_sources_and_references_and_no_value() {
    let compiled = world(FILE).env("HELD_HERE", "canary").env("LISTED", "canary").compile();
    let plan = compiled.plan.unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
    let text = |text: &str| text.to_owned();
    let wanted = [
        ("IN_FILE", SecretSource::File(text("keys/db"))),
        ("KEPT", SecretSource::Vault(text("shop"))),
        ("LISTED", SecretSource::Env(text("LISTED"))),
        (
            "PRINTED",
            SecretSource::Command {
                argv: vec![text("pass"), text("show"), text("shop")],
                inherit: vec![text("PASS_TOKEN")],
            },
        ),
        ("TOKEN", SecretSource::Env(text("HELD_HERE"))),
    ];
    assert_eq!(plan.secrets, wanted.map(|(name, source)| (text(name), source)).into());
    let script = plan.workflows[0].nodes.iter().find_map(|node| match &node.kind {
        Kind::Script(script) => Some(&script.env),
        _ => None,
    });
    let pair = |name: &str, value: &str| (text(name), text(value));
    let given = [pair("OWN", "x ${KEPT}"), pair("TOKEN", "${TOKEN}"), pair("LISTED", "${LISTED}")];
    assert_eq!(script.unwrap()[..], given);
    assert!(!serde_json::to_string(&plan).unwrap().contains("canary"));
}

#[test]
fn a_secret_stands_in_no_text_of_the_plan() {
    for (name, text) in [("TOKEN", "say ${TOKEN}"), ("HELD_HERE", "say ${HELD_HERE:-x}")] {
        let file = FILE.replace("command: env", &format!("command: \"{text}\""));
        let compiled = world(&file).env("HELD_HERE", "canary").compile();
        let found: Vec<_> = compiled.diagnostics.iter().map(|found| found.code).collect();
        assert_eq!(found, ["workflow::secret_in_text"], "{name}: {:?}", compiled.diagnostics);
        assert!(!format!("{compiled:?}").contains("canary"), "{name}");
    }
}

#[test]
fn a_source_is_one_and_a_name_is_a_name() {
    for (from, to, code) in [
        ("{env: HELD_HERE}", "{env: HELD_HERE, vault: x}", "workflow::excludes"),
        ("{env: HELD_HERE}", "{}", "workflow::missing_key"),
        ("{command: [pass, show, shop], inherit: [PASS_TOKEN]}", "{command: []}", "workflow::empty_value"),
        ("KEPT: {vault: shop}", "NOT-A-NAME: {vault: shop}", "workflow::bad_name"),
        ("[TOKEN, LISTED]", "[TOKEN, 'A B']", "workflow::bad_name"),
        ("{vault: shop}", "{vualt: shop}", "workflow::unknown_key"),
    ] {
        let compiled = world(&FILE.replace(from, to)).env("HELD_HERE", "canary").compile();
        assert!(
            compiled.diagnostics.iter().any(|found| found.code == code),
            "{to}: {:?}",
            compiled.diagnostics
        );
        assert!(compiled.plan.is_none(), "{to}");
    }
}

#[test]
fn a_variable_that_is_not_set_is_told_of_before_the_run() {
    let compiled = world(FILE).compile();
    let found =
        compiled.diagnostics.iter().find(|found| found.code == "env::unset_secret").expect("a finding");
    assert_eq!(found.severity, Severity::Warning);
    assert!(
        found.message.contains("`HELD_HERE`") && found.message.contains("secret `TOKEN`"),
        "{}",
        found.message
    );
    assert!(compiled.plan.is_some(), "the file is right");
}
