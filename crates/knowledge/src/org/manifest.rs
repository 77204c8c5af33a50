//! An organisation becomes an execution manifest.
//!
//! Reports work and their superior makes one position of what they found: it waits for all of them to end, and one must have
//! succeeded. `Flow::Down` is the other way round: superiors say what is to be found out, and their reports answer.

use super::chart::{Chart, Department, Role, Server};
use crate::vocab;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Whose work goes where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Flow {
    /// Reports work, superiors put together.
    #[default]
    Up,
    /// Superiors say what is to be done, reports do it.
    Down,
}

/// Whose manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// All departments.
    All,
    /// One, by its IRI.
    Department(String),
}

/// A manifest, and what it leaves out.
#[derive(Debug)]
pub struct Made {
    /// The manifest.
    pub manifest: Value,
    /// What stands outside of it although the organisation connects it.
    pub notes: Vec<String>,
}

/// What a superior without a task of its own is asked.
const PUT_TOGETHER: &str = "Your reports have worked on this question: {{ query }}\nMake one position of what they found. \
    Say where they disagree, what is missing, and which of them gave no result.";

/// What a superior is asked whose reports come after it.
const GIVE_OUT: &str =
    "This question is to be answered: {{ query }}\nSay for each of your reports what it is to find out.";

/// Makes the manifest. `source` names the file for people.
pub fn manifest(chart: &Chart, scope: &Scope, flow: Flow, query: &str, source: &str) -> Made {
    let making = Making::new(chart, scope, flow);
    let agents: Vec<Value> = making.roles.iter().map(|(iri, role)| making.agent(iri, role)).collect();
    let last: Vec<&str> = making.last().map(|role| role.id.as_str()).collect();
    let strategy = if last.len() == 1 { "flat" } else { "hierarchical" };
    let mut synthesis = json!({"strategy": strategy, "of": last});
    if last.len() > 1 {
        synthesis["ratio"] = json!(10);
    }
    let name = match scope {
        Scope::All => chart.name.clone(),
        Scope::Department(iri) => {
            chart.departments.get(iri).map_or_else(|| vocab::local(iri).to_owned(), |one| one.name.clone())
        }
    };
    let mut manifest = json!({"kind": "execution_manifest", "name": plain(&name), "source": source});
    if !query.is_empty() {
        manifest["query"] = json!(query);
    }
    manifest["agents"] = json!(agents);
    let servers = making.servers();
    if !servers.is_empty() {
        manifest["mcp_servers"] = Value::Object(servers);
    }
    manifest["synthesis"] = synthesis;
    manifest["metadata"] = json!({"org": making.record(source)});
    Made { manifest, notes: making.notes() }
}

/// A name that workflows can have.
fn plain(name: &str) -> String {
    let letters = name.chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    letters.collect::<String>().trim_matches('-').to_owned()
}

struct Making<'c> {
    chart: &'c Chart,
    scope: &'c Scope,
    flow: Flow,
    roles: Vec<(&'c String, &'c Role)>,
    inside: BTreeSet<&'c str>,
}

impl<'c> Making<'c> {
    fn new(chart: &'c Chart, scope: &'c Scope, flow: Flow) -> Making<'c> {
        let is_meant = |role: &Role| match scope {
            Scope::All => true,
            Scope::Department(iri) => role.departments.contains(iri),
        };
        let roles: Vec<_> = chart.roles.iter().filter(|(_, role)| is_meant(role)).collect();
        let inside = roles.iter().map(|(iri, _)| iri.as_str()).collect();
        Making { chart, scope, flow, roles, inside }
    }

    /// Those of the roles that are part of this work.
    fn here<'a>(&'a self, roles: &'a BTreeSet<String>) -> impl Iterator<Item = &'c Role> + 'a {
        roles
            .iter()
            .filter(|iri| self.inside.contains(iri.as_str()))
            .filter_map(|iri| self.chart.roles.get(iri))
    }

    /// The roles that a role waits for, and those that wait for it.
    fn around(&self, role: &'c Role) -> (Vec<&'c Role>, Vec<&'c Role>) {
        let (reports, superiors) = (self.here(&role.reports).collect(), self.here(&role.superiors).collect());
        match self.flow {
            Flow::Up => (reports, superiors),
            Flow::Down => (superiors, reports),
        }
    }

    /// Roles that nothing waits for: the answer is made of these.
    fn last(&self) -> impl Iterator<Item = &'c Role> + '_ {
        self.roles.iter().map(|(_, role)| *role).filter(|role| self.around(role).1.is_empty())
    }

    fn department(&self, role: &Role) -> Option<(&'c String, &'c Department)> {
        self.chart.departments.get_key_value(role.departments.first()?)
    }

    fn agent(&self, iri: &str, role: &'c Role) -> Value {
        let (before, _) = self.around(role);
        let mut agent = Map::new();
        agent.insert("id".into(), json!(role.id));
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                agent.insert(key.into(), value);
            }
        };
        let word = |name: &str| role.words.get(name);
        let text = |name: &str| word(name).map(|text| json!(text));
        put("role", role.label.as_ref().map(|label| json!(label)));
        put("department", self.department(role).map(|(_, department)| json!(department.name)));
        put("task", text("task").or_else(|| self.usual_task(role).map(Value::from)));
        put("system_prompt", text("systemPrompt"));
        put("success_criteria", text("successCriteria"));
        put("timeout", word("timeoutSeconds").map(|seconds| json!(format!("{seconds}s"))));
        put("max_retries", number(word("maxRetries")));
        put("max_tokens", number(word("maxTokens")));
        put(
            "budget",
            word("budgetUsd").and_then(|usd| usd.parse::<f64>().ok()).map(|usd| json!({"usd": usd})),
        );
        put("model", role.model.as_ref().map(|model| json!(model)));
        let servers =
            role.servers.iter().filter_map(|iri| self.chart.servers.get(iri)).map(|server| &server.name);
        put("tools", Some(json!(servers.chain(&role.tools).collect::<Vec<_>>())));
        let needs = self.needs(iri, role, &before);
        put("depends_on", (!needs.is_empty()).then(|| json!(needs)));
        Value::Object(agent)
    }

    fn usual_task(&self, role: &Role) -> Option<&'static str> {
        let leads = self.here(&role.reports).next().is_some();
        match self.flow {
            Flow::Up => leads.then_some(PUT_TOGETHER),
            Flow::Down => leads.then_some(GIVE_OUT),
        }
    }

    fn needs(&self, iri: &str, role: &Role, before: &[&Role]) -> Vec<Value> {
        // Of the reports one must have succeeded; a superior that failed leaves its reports nothing to do.
        let requires = if self.flow == Flow::Up { "some" } else { "success" };
        let mut needs: Vec<Value> =
            before.iter().map(|other| json!({"agent": other.id, "requires": requires})).collect();
        let Some((_, department)) = self.department(role) else { return needs };
        let begins = before.iter().all(|other| other.departments != role.departments);
        let heads = department.head.as_deref() == Some(iri);
        let of_start = department.starts_after.iter().filter(|_| begins);
        let of_head = department.informed_by.iter().filter(|_| heads);
        for other in of_start.chain(of_head) {
            let head = self.chart.departments.get(other).and_then(|other| other.head.as_ref());
            let head = head
                .filter(|head| self.inside.contains(head.as_str()))
                .and_then(|head| self.chart.roles.get(head));
            if let Some(head) = head.filter(|head| head.id != role.id) {
                needs.push(json!({"agent": head.id, "requires": "any"}));
            }
        }
        needs
    }

    /// The servers that a role of this work may use, and no others.
    fn servers(&self) -> Map<String, Value> {
        let used: BTreeSet<&String> = self.roles.iter().flat_map(|(_, role)| &role.servers).collect();
        let mut all = Map::new();
        for server in used.into_iter().filter_map(|iri| self.chart.servers.get(iri)) {
            all.insert(server.name.clone(), server_entry(server));
        }
        all
    }

    /// What the journal is to remember: who the agents are, by IRI.
    fn record(&self, source: &str) -> Value {
        let roles: Map<String, Value> =
            self.roles.iter().map(|(iri, role)| (role.id.clone(), json!(iri))).collect();
        let departments: Map<String, Value> = self
            .roles
            .iter()
            .filter_map(|(_, role)| Some((role.id.clone(), json!(role.departments.first()?))))
            .collect();
        json!({"file": source, "company": self.chart.company, "roles": roles, "departments": departments})
    }

    fn notes(&self) -> Vec<String> {
        let Scope::Department(iri) = self.scope else { return Vec::new() };
        let Some(department) = self.chart.departments.get(iri) else { return Vec::new() };
        let needed = department.starts_after.iter().chain(&department.informed_by);
        let name = |iri: &String| self.chart.departments.get(iri).map_or(iri.clone(), |one| one.name.clone());
        needed
            .map(|other| {
                format!(
                    "department `{}` needs `{}`, which is not part of this work",
                    department.name,
                    name(other)
                )
            })
            .collect()
    }
}

/// How a server is reached, as manifests say it.
pub(super) fn server_entry(server: &Server) -> Value {
    let mut entry = Map::new();
    if let Some(command) = &server.command {
        entry.insert("command".into(), json!(command));
        entry.insert("args".into(), json!(server.arguments));
    }
    if let Some(url) = &server.url {
        // Another way than a program has to be named.
        entry.insert("type".into(), json!("http"));
        entry.insert("url".into(), json!(url));
    }
    if !server.variables.is_empty() {
        let env: Map<String, Value> =
            server.variables.iter().map(|name| (name.clone(), json!(format!("${{{name}:-}}")))).collect();
        entry.insert("env".into(), Value::Object(env));
    }
    Value::Object(entry)
}

fn number(word: Option<&String>) -> Option<Value> {
    word.and_then(|number| number.parse::<u64>().ok()).map(Value::from)
}
