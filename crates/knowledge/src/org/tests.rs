//! The sample company without a word, each kind of mistake at its place, and manifests.

use super::*;
use convoke_plan::{Diagnostic, Severity};
use serde_json::{Value, json};

const HARBOUR: &str = include_str!("../../../../examples/company/harbour.ttl");
const PREFIXES: &str =
    "@prefix cv: <https://w3id.org/convoke#> . @prefix : <https://harbour.example/org#> .\n";

fn text(path: &str, text: &str) -> Text {
    Text { path: path.to_owned(), text: text.to_owned() }
}

fn harbour() -> Organisation {
    let (organisation, found) = load(&[text("harbour.ttl", HARBOUR)]);
    assert!(found.is_empty(), "{found:?}");
    organisation.unwrap()
}

/// What is found when these lines are added to the sample company.
fn found_with(lines: &str) -> Vec<Diagnostic> {
    let more = format!("{PREFIXES}{lines}");
    load(&[text("harbour.ttl", HARBOUR), text("more.ttl", &more)]).1
}

/// The first error: its code, its message, and the file and line of its first place.
fn error_with(lines: &str) -> (&'static str, String, String) {
    let found = found_with(lines);
    let one = found
        .iter()
        .find(|one| one.severity == Severity::Error)
        .unwrap_or_else(|| panic!("{lines}: {found:?}"));
    let place = &one.labels[0].span;
    (one.code, one.message.clone(), format!("{}:{}", place.file.path, place.line_column().0))
}

fn made(scope: &Scope, flow: Flow) -> Value {
    manifest(&harbour().chart, scope, flow, "why?", "harbour.ttl").manifest
}

fn department(name: &str) -> Scope {
    Scope::Department(harbour().chart.department(name).unwrap().clone())
}

fn agent<'m>(manifest: &'m Value, id: &str) -> &'m Value {
    manifest["agents"]
        .as_array()
        .unwrap()
        .iter()
        .find(|agent| agent["id"] == id)
        .unwrap_or_else(|| panic!("{id}"))
}

#[test]
fn the_sample_company_is_sound() {
    let organisation = harbour();
    let chart = &organisation.chart;
    assert_eq!((chart.departments.len(), chart.roles.len(), chart.servers.len()), (9, 300, 20));
    assert!(organisation.reasoner.counts().1 > 3000);
}

#[test]
fn a_department_in_the_place_of_a_role_contradicts_itself() {
    let (code, message, place) = error_with(":finance cv:reportsTo :director .");
    assert_eq!((code, place.as_str()), ("org::inconsistent", "more.ttl:2"));
    assert!(message.contains("cax-adc") && message.contains(":finance rdf:type cv:"), "{message}");
}

#[test]
fn a_circle_of_superiors_contradicts_itself() {
    let found = found_with(":it-head cv:reportsTo :it-lead-1 .");
    let one = found.iter().find(|one| one.code == "org::inconsistent").unwrap();
    let files: Vec<&str> = one.labels.iter().map(|label| label.span.file.path.as_str()).collect();
    assert!(files.contains(&"more.ttl") && files.contains(&"harbour.ttl"), "{one:?}");
    assert!(one.help.as_ref().unwrap().contains("(stated)"), "{one:?}");
}

#[test]
fn what_was_granted_may_not_be_denied() {
    let (code, message, place) = error_with(":it-1 cv:mayNotUse :repository-manager-mcp .");
    assert_eq!((code, place.as_str()), ("org::inconsistent", "more.ttl:2"));
    assert!(message.contains("prp-pdw"), "{message}");
}

#[test]
fn a_role_works_in_one_department() {
    let (code, message, _) = error_with(":finance cv:hasAgentRole :it-1 .");
    assert_eq!(code, "org::two_departments");
    assert!(message.contains("Finance") && message.contains("IT"), "{message}");
}

#[test]
fn departments_do_not_wait_in_a_circle() {
    let found = found_with(":it cv:dependsOnDepartment :finance .");
    let codes: Vec<&str> = found.iter().map(|one| one.code).collect();
    assert!(codes.contains(&"org::circle") || codes.contains(&"org::inconsistent"), "{codes:?}");
    let places: Vec<&str> =
        found.iter().flat_map(|one| &one.labels).map(|label| label.span.file.path.as_str()).collect();
    assert!(places.contains(&"more.ttl") && places.contains(&"harbour.ttl"), "{places:?}");
}

#[test]
fn slips_are_named_with_the_word_that_was_meant() {
    let found = found_with(":it-1 cv:usesTools :github-mcp .\n:new a cv:Departement .");
    let slips: Vec<(String, Option<String>, usize)> = found
        .iter()
        .filter(|one| one.code == "org::unknown_word")
        .map(|one| (one.message.clone(), one.help.clone(), one.labels[0].span.line_column().0))
        .collect();
    let expected = [
        (
            "`cv:usesTools` is no word of organisations".to_owned(),
            Some("did you mean `cv:usesTool`?".to_owned()),
            2,
        ),
        (
            "`cv:Departement` is no word of organisations".to_owned(),
            Some("did you mean `cv:Department`?".to_owned()),
            3,
        ),
    ];
    assert_eq!(slips, expected);
}

#[test]
fn what_is_missing_is_found() {
    let cases = [
        (":lost a cv:AgentRole .", "org::no_department"),
        (":empty a cv:Department . :harbour cv:hasDepartment :empty .", "org::no_head"),
        (":far a cv:MCPServer .", "org::no_way"),
        (":x cv:agentId \"it-1\" . :it cv:hasAgentRole :x . :x cv:reportsTo :it-head .", "org::same_id"),
        (":it-1 cv:timeoutSeconds \"soon\" .", "org::bad_number"),
        (":it cv:headedBy :finance-1 .", "org::no_head"),
    ];
    for (lines, code) in cases {
        let found = found_with(lines);
        assert!(
            found.iter().any(|one| one.code == code && one.severity == Severity::Error),
            "{lines}: {found:?}"
        );
    }
    let unused = found_with(":idle a cv:MCPServer ; cv:url \"https://x.example\" .");
    assert_eq!(unused.iter().map(|one| one.code).collect::<Vec<_>>(), ["org::unused_tool"]);
}

#[test]
fn nothing_outside_is_read() {
    let cases = [
        ("a.jsonld", r#"{"@context": "https://evil.example/context.jsonld", "@id": "urn:x"}"#),
        (
            "a.rdf",
            "<!DOCTYPE rdf [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"/>",
        ),
        ("a.ttl", "this is not Turtle"),
        ("a.doc", ""),
    ];
    for (path, words) in cases {
        let (organisation, found) = load(&[text(path, words)]);
        assert!(organisation.is_none() && found[0].code == "org::syntax", "{path}: {found:?}");
    }
    // An import is a triple like any other.
    let imports =
        format!("{HARBOUR}\n<urn:o> <http://www.w3.org/2002/07/owl#imports> <https://evil.example/o.ttl> .");
    assert!(load(&[text("harbour.ttl", &imports)]).1.is_empty());
}

#[test]
fn every_role_is_an_agent_and_its_superior_waits_for_it() {
    let manifest = made(&Scope::All, Flow::Up);
    assert_eq!(manifest["agents"].as_array().unwrap().len(), 300);
    assert_eq!(manifest["mcp_servers"].as_object().unwrap().len(), 20);
    assert_eq!(manifest["synthesis"], json!({"strategy": "flat", "of": ["director"]}));
    let lead = agent(&manifest, "it-lead-1");
    assert!(lead["depends_on"].as_array().unwrap().iter().all(|need| need["requires"] == "some"), "{lead}");
    // Finance begins when the heads of what it depends on have spoken.
    let starts = agent(&manifest, "finance-1")["depends_on"].clone();
    assert_eq!(
        starts,
        json!([{"agent": "it-head", "requires": "any"}, {"agent": "research-head", "requires": "any"}])
    );
    let heads = &agent(&manifest, "communications-head")["depends_on"];
    assert!(
        heads.as_array().unwrap().contains(&json!({"agent": "finance-head", "requires": "any"})),
        "{heads}"
    );
    let roles = &manifest["metadata"]["org"]["roles"];
    assert_eq!(roles["it-1"], "https://harbour.example/org#it-1");
}

#[test]
fn the_nearest_policy_gives_the_model() {
    let manifest = made(&Scope::All, Flow::Up);
    let model = |id: &str| agent(&manifest, id)["model"].clone();
    assert_eq!(model("it-1"), "openai:gpt-5-mini");
    assert_eq!(model("research-1"), "gemini:gemini-3-pro");
    assert_eq!(model("research-lead-1"), "anthropic:claude-sonnet-4-5");
    assert_eq!(model("research-head"), "anthropic:claude-opus-4-5");
    let own = format!(
        "{HARBOUR}\n:it-1 cv:model \"mistral:large\" .\n:p a cv:ModelPolicy ; cv:forRole :it-2 ; cv:model \"x:y\" ."
    );
    let (organisation, found) = load(&[text("harbour.ttl", &own)]);
    assert!(found.is_empty(), "{found:?}");
    let manifest =
        super::manifest(&organisation.unwrap().chart, &Scope::All, Flow::Up, "", "harbour.ttl").manifest;
    assert_eq!(agent(&manifest, "it-1")["model"], "mistral:large");
    assert_eq!(agent(&manifest, "it-2")["model"], "x:y");
}

#[test]
fn a_role_has_its_own_tools_and_those_of_its_department() {
    let manifest = made(&department("infrastructure"), Flow::Up);
    assert_eq!(
        agent(&manifest, "infrastructure-2")["tools"],
        json!(["container-manager-mcp", "systems-manager-mcp"])
    );
    assert_eq!(agent(&manifest, "infrastructure-head")["tools"], json!(["systems-manager-mcp"]));
    assert_eq!(manifest["mcp_servers"].as_object().unwrap().len(), 6);
    let banned = format!("{HARBOUR}\n:infrastructure-head cv:mayNotUse :systems-manager-mcp .");
    let (organisation, found) = load(&[text("harbour.ttl", &banned)]);
    assert!(found.is_empty(), "{found:?}");
    let manifest = super::manifest(&organisation.unwrap().chart, &Scope::All, Flow::Up, "", "x").manifest;
    assert_eq!(agent(&manifest, "infrastructure-head")["tools"], json!([]));
}

#[test]
fn one_department_answers_by_its_head_and_says_what_it_does_without() {
    let organisation = harbour();
    let finance = department("finance");
    let made = super::manifest(&organisation.chart, &finance, Flow::Up, "why?", "harbour.ttl");
    assert_eq!(made.manifest["agents"].as_array().unwrap().len(), 38);
    assert_eq!(made.manifest["synthesis"]["of"], json!(["finance-head"]));
    assert_eq!(made.notes.len(), 2, "{:?}", made.notes);
    assert!(agent(&made.manifest, "finance-1").get("depends_on").is_none());
}

#[test]
fn down_is_the_other_way_round() {
    let manifest = made(&department("it"), Flow::Down);
    assert!(agent(&manifest, "it-head").get("depends_on").is_none());
    assert_eq!(
        agent(&manifest, "it-lead-1")["depends_on"],
        json!([{"agent": "it-head", "requires": "success"}])
    );
    assert_eq!(manifest["synthesis"]["strategy"], "hierarchical");
    assert_eq!(manifest["synthesis"]["of"].as_array().unwrap().len(), 45);
}

#[test]
fn other_vocabularies_are_understood() {
    let w3c = "@prefix org: <http://www.w3.org/ns/org#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix : <https://gov.example/#> .
        :office a org:Organization ; skos:prefLabel \"Office\" ; org:hasUnit :taxes . :taxes a org:OrganizationalUnit ; skos:prefLabel \"Taxes\" .
        :chief org:postIn :taxes ; skos:prefLabel \"Chief\" ; org:headOf :taxes . :clerk org:postIn :taxes ; skos:prefLabel \"Clerk\" ; org:reportsTo :chief .";
    let schema = r#"{"@context": {"@vocab": "http://schema.org/", "id": "@id", "type": "@type", "reportsTo": {"@type": "@id"}},
        "id": "https://shop.example/#shop", "type": "Organization", "name": "Shop",
        "department": [{"id": "https://shop.example/#sales", "type": "Organization", "name": "Sales", "employee": [
            {"id": "https://shop.example/#lead", "type": "Person", "name": "Ann Secret", "jobTitle": "Lead"},
            {"id": "https://shop.example/#seller", "type": "Person", "jobTitle": "Seller", "reportsTo": "https://shop.example/#lead"}]}]}"#;
    let ldap = r#"{"@context": {"dn": "@id", "title": "http://www.w3.org/2000/01/rdf-schema#label", "mail": null, "userPassword": null,
        "manager": {"@id": "https://w3id.org/convoke#reportsTo", "@type": "@id"}, "ou": {"@id": "https://w3id.org/convoke#inDepartment", "@type": "@id"}},
        "@graph": [{"dn": "urn:ldap:lead", "title": "Lead", "ou": "urn:ldap:sales", "mail": "a@b.c"},
                   {"dn": "urn:ldap:seller", "title": "Seller", "manager": "urn:ldap:lead", "ou": "urn:ldap:sales", "userPassword": "secret"}]}"#;
    for (path, words) in [("w3c.ttl", w3c), ("schema.jsonld", schema), ("ldap.jsonld", ldap)] {
        let (organisation, found) = load(&[text(path, words)]);
        assert!(found.iter().all(|one| one.severity == Severity::Warning), "{path}: {found:?}");
        let chart = organisation.unwrap().chart;
        assert_eq!((chart.departments.len(), chart.roles.len()), (1, 2), "{path}");
        let manifest = manifest(&chart, &Scope::All, Flow::Up, "why?", path).manifest;
        assert_eq!(manifest["synthesis"]["of"].as_array().unwrap().len(), 1, "{path}");
        let printed = manifest.to_string();
        assert!(!printed.contains("Secret") && !printed.contains("secret"), "{path}: {printed}");
    }
}

#[test]
fn the_words_of_the_program_contradict_nothing() {
    let words = ontology();
    assert!(Reasoner::new(&words).contradictions().is_empty());
}
