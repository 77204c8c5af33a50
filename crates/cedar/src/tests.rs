use super::*;
use convoke_policy::{Access, Action, Authorities, Kind, Lexical, Policy, Resource, Verdict};
use serde_json::json;
use std::path::Path;

struct File(&'static str);

impl Authorities for File {
    fn read(&self, _: &str) -> Result<Arc<dyn Authority>, String> {
        read(self.0)
    }
}

fn policy(cedar: &'static str) -> Policy {
    Policy::parse_with("extends: develop\ncedar: rules.cedar\n", &File(cedar)).unwrap()
}

fn verdict(policy: &Policy, command: &str) -> Verdict {
    let file = Kind::File { names: 1 };
    let world =
        Lexical::new("/w").with("src/lib.rs", file).with("notes/a.md", file).with(".git", Kind::Folder);
    policy.judge(command, Path::new("/w"), &world).verdict
}

const PERMIT: &str = "permit(principal, action, resource);";

#[test]
fn the_stricter_verdict_wins() {
    let all = policy(PERMIT);
    for (command, expected) in
        [("cat src/lib.rs", Verdict::Allow), ("frobnicate", Verdict::Ask), ("cat .env", Verdict::Deny)]
    {
        assert_eq!(verdict(&all, command), expected, "{command}");
    }
    let none = policy("permit(principal, action, resource) when { false };");
    for command in ["cat src/lib.rs", "ls", "frobnicate"] {
        assert_eq!(verdict(&none, command), Verdict::Deny, "{command}");
    }
}

#[test]
fn commands_paths_and_folders_are_told_apart() {
    let rules = policy(concat!(
        "permit(principal, action, resource);",
        "@id(\"no commits\") forbid(principal, action in Command::Action::\"git commit\", resource);",
        "forbid(principal, action, resource in Path::\"notes\") when { context.access == \"write\" || context.access == \"replace\" };",
        "forbid(principal, action == Command::Action::\"sort\", resource);",
    ));
    for (command, expected) in [
        ("git status", Verdict::Allow),
        ("git commit -m x", Verdict::Deny),
        ("env git commit -m x", Verdict::Deny),
        ("cat notes/a.md", Verdict::Allow),
        ("echo x > notes/a.md", Verdict::Deny),
        ("cp src/lib.rs notes/new/b.rs", Verdict::Deny),
        ("cd notes && touch b.md", Verdict::Deny),
        ("cat src/lib.rs | sort", Verdict::Deny),
        ("cat src/lib.rs && cat notes/a.md", Verdict::Allow),
        // What cannot be seen through may hide what is forbidden.
        ("echo $(git commit -m x)", Verdict::Deny),
        ("cat --unknown notes/a.md", Verdict::Deny),
    ] {
        assert_eq!(verdict(&rules, command), expected, "{command}");
    }
    let world = Lexical::new("/w").with("src/lib.rs", Kind::File { names: 1 });
    let judgement = rules.judge("git commit -m x", Path::new("/w"), &world);
    assert!(
        judgement.reasons.iter().any(|reason| reason.message.contains("forbidden by `no commits`")),
        "{judgement:?}"
    );
    assert!(judgement.opinions.iter().any(|opinion| !opinion.permitted && opinion.by == "rules.cedar"));
}

#[test]
fn who_acts_and_by_which_contract_counts() {
    let rules = policy(concat!(
        "permit(principal == Persona::\"reviewer\", action, resource) when { context.contract.phase == \"review\" };",
        "permit(principal == Step::\"build\", action in Action::\"command\", resource);",
    ));
    let as_actor = |actor: Actor| verdict(&rules.clone().for_actor(actor), "ls");
    let actor = |persona: Option<&str>, step: &str, phase: &str| Actor {
        persona: persona.map(str::to_owned),
        step: step.to_owned(),
        contract: json!({"phase": phase, "allowed_tools": null, "share": 0.5, "__entity": {}}),
        tool: None,
    };
    assert_eq!(as_actor(actor(Some("reviewer"), "x", "review")), Verdict::Allow);
    assert_eq!(as_actor(actor(Some("reviewer"), "x", "write")), Verdict::Deny);
    assert_eq!(as_actor(actor(None, "build", "")), Verdict::Allow);
    assert_eq!(as_actor(actor(Some("build"), "build", "")), Verdict::Deny);
    assert_eq!(as_actor(Actor::default()), Verdict::Deny);
}

#[test]
fn tools_and_their_paths_are_asked_about() {
    let rules = policy(concat!(
        "permit(principal, action in Action::\"tool\", resource);",
        "forbid(principal, action == Tool::Action::\"mail__send\", resource);",
        "forbid(principal, action == Tool::Action::\"write_file\", resource in Path::\"notes\");",
    ));
    assert_eq!(rules.judge_tool("mail__read").verdict, Verdict::Allow);
    assert_eq!(rules.judge_tool("mail__send").verdict, Verdict::Deny);
    let world = Lexical::new("/w");
    let writes = |path: &str| rules.judge_path(Path::new(path), Access::Write, &world).verdict;
    assert_eq!((writes("src/a.rs"), writes("notes/a.md")), (Verdict::Allow, Verdict::Deny));
}

#[test]
fn a_rule_that_cannot_be_evaluated_denies() {
    let rules = policy(
        "permit(principal, action, resource); forbid(principal, action, resource) when { context.contract.missing == 1 };",
    );
    assert_eq!(verdict(&rules, "ls"), Verdict::Deny);
}

#[test]
fn mistakes_are_told_with_their_line() {
    let found = Policy::parse_with(
        "extends: develop\ncedar: rules.cedar\n",
        &File("permit(principal, action, resource);\nforbid(x);\n"),
    )
    .unwrap_err();
    assert_eq!((found[0].code, found[0].line), ("policy::cedar", 2));
    assert!(found[0].message.contains("line 2"), "{}", found[0].message);
    for text in ["", "// nothing", "permit(principal == ?principal, action, resource);"] {
        assert!(read(text).is_err(), "{text}");
    }
    let found = Policy::parse("cedar: rules.cedar\n").unwrap_err();
    assert!(found[0].message.contains("built without Cedar"));
}

#[test]
fn odd_names_are_asked_about_as_they_are() {
    let rules = read("permit(principal, action, resource) when { resource != Path::\"a\\\"b\" };").unwrap();
    let asked = |path: &str| {
        let resource = Resource::Path(path.to_owned());
        rules
            .answer(
                &Actor::default(),
                &Question { action: Action::Command("cat".into()), resource, access: None },
            )
            .permitted
    };
    assert!(!asked("a\"b") && asked("a\\\"b") && asked("\u{fc}/\n") && asked(""));
}
