//! The roles and departments of an organisation and the relations between them, looked up once from the statements that hold.

use crate::rules::Reasoner;
use crate::vocab::{self, cv, label, rdf_type};
use oxrdf::{NamedOrBlankNode, Term};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An organisation.
#[derive(Debug, Default)]
pub struct Chart {
    /// The company, where one is named.
    pub company: Option<String>,
    /// What it is called.
    pub name: String,
    /// Departments by IRI.
    pub departments: BTreeMap<String, Department>,
    /// Roles by IRI.
    pub roles: BTreeMap<String, Role>,
    /// Servers by IRI.
    pub servers: BTreeMap<String, Server>,
}

/// A department.
#[derive(Debug, Default, Clone)]
pub struct Department {
    /// What it is called.
    pub name: String,
    /// Its head.
    pub head: Option<String>,
    /// Whether the head was not stated: it is the one role whose superior is elsewhere.
    pub head_assumed: bool,
    /// Departments whose heads must have ended before work here begins.
    pub starts_after: BTreeSet<String>,
    /// Departments whose heads are read by the head of this one.
    pub informed_by: BTreeSet<String>,
}

/// A role.
#[derive(Debug, Default, Clone)]
pub struct Role {
    /// Its id in manifests.
    pub id: String,
    /// What it is called.
    pub label: Option<String>,
    /// Its departments; more than one is a mistake.
    pub departments: BTreeSet<String>,
    /// Roles that it reports to.
    pub superiors: BTreeSet<String>,
    /// Roles that report to it.
    pub reports: BTreeSet<String>,
    /// Servers that it may use.
    pub servers: BTreeSet<String>,
    /// Single tools of servers that it may use, as `server__tool`.
    pub tools: BTreeSet<String>,
    /// The model by policy.
    pub model: Option<String>,
    /// Further words of it, by property: `task`, `systemPrompt`, `successCriteria`, `timeoutSeconds`, …
    pub words: BTreeMap<&'static str, String>,
}

/// A server of tools.
#[derive(Debug, Default, Clone)]
pub struct Server {
    /// Its name in manifests.
    pub name: String,
    /// The program, or none.
    pub command: Option<String>,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The address, or none.
    pub url: Option<String>,
    /// Names of variables of the environment that it is given.
    pub variables: BTreeSet<String>,
}

/// Properties of a role that go into the manifest as they are.
pub(super) const WORDS: [&str; 7] =
    ["task", "systemPrompt", "successCriteria", "timeoutSeconds", "maxRetries", "maxTokens", "budgetUsd"];

/// What holds, by subject and predicate.
struct Facts(HashMap<String, HashMap<String, BTreeSet<String>>>);

impl Facts {
    fn of(reasoner: &Reasoner) -> Facts {
        let mut facts: HashMap<String, HashMap<String, BTreeSet<String>>> = HashMap::new();
        for triple in reasoner.triples() {
            let subject = match triple.subject {
                NamedOrBlankNode::NamedNode(node) => node.into_string(),
                NamedOrBlankNode::BlankNode(node) => node.into_string(),
            };
            let object = match triple.object {
                Term::NamedNode(node) => node.into_string(),
                Term::BlankNode(node) => node.into_string(),
                Term::Literal(literal) => literal.value().to_owned(),
            };
            facts
                .entry(subject)
                .or_default()
                .entry(triple.predicate.into_string())
                .or_default()
                .insert(object);
        }
        Facts(facts)
    }

    fn all(&self, subject: &str, predicate: &str) -> BTreeSet<String> {
        self.0.get(subject).and_then(|facts| facts.get(predicate)).cloned().unwrap_or_default()
    }

    fn ours(&self, subject: &str, name: &str) -> BTreeSet<String> {
        self.all(subject, cv(name).as_str())
    }

    fn one(&self, subject: &str, name: &str) -> Option<String> {
        self.ours(subject, name).into_iter().next()
    }

    fn label(&self, subject: &str) -> Option<String> {
        self.all(subject, label().as_str()).into_iter().next()
    }

    fn members(&self, class: &str) -> Vec<String> {
        let class = cv(class).into_string();
        let ty = rdf_type().into_string();
        let is_member = |facts: &HashMap<String, BTreeSet<String>>| {
            facts.get(&ty).is_some_and(|classes| classes.contains(&class))
        };
        let mut found: Vec<String> =
            self.0.iter().filter(|(_, facts)| is_member(facts)).map(|(name, _)| name.clone()).collect();
        found.sort();
        found
    }
}

impl Chart {
    pub(super) fn of(reasoner: &Reasoner) -> Chart {
        let facts = Facts::of(reasoner);
        let company = facts.members("Company").into_iter().next();
        let called =
            company.as_ref().map(|iri| facts.label(iri).unwrap_or_else(|| vocab::local(iri).to_owned()));
        let mut chart = Chart {
            name: called.unwrap_or_else(|| "organisation".to_owned()),
            servers: facts
                .members("MCPServer")
                .into_iter()
                .map(|iri| (iri.clone(), server(&facts, &iri)))
                .collect(),
            departments: facts
                .members("Department")
                .into_iter()
                .map(|iri| (iri.clone(), department(&facts, &iri)))
                .collect(),
            company,
            ..Chart::default()
        };
        let policies = policies(&facts);
        for iri in facts.members("AgentRole") {
            let role = role(&facts, &iri, &chart.servers, &policies);
            chart.roles.insert(iri, role);
        }
        chart.assume_heads();
        chart
    }

    /// Where no head is stated, the one role of a department whose superior is elsewhere is its head.
    fn assume_heads(&mut self) {
        for (iri, department) in
            self.departments.iter_mut().filter(|(_, department)| department.head.is_none())
        {
            let inside = |role: &&Role| role.departments.contains(iri);
            let is_top = |role: &Role| {
                !role.superiors.iter().any(|other| self.roles.get(other).is_some_and(|other| inside(&other)))
            };
            let mut tops = self.roles.iter().filter(|(_, role)| inside(role) && is_top(role));
            if let (Some((head, _)), None) = (tops.next(), tops.next()) {
                department.head = Some(head.clone());
                department.head_assumed = true;
            }
        }
    }

    /// Roles of a department, by IRI.
    pub fn roles_of<'c>(&'c self, department: &'c str) -> impl Iterator<Item = (&'c String, &'c Role)> {
        self.roles.iter().filter(move |(_, role)| role.departments.contains(department))
    }

    /// The department that a word stands for: its IRI, the end of it, or what it is called.
    pub fn department(&self, word: &str) -> Option<&String> {
        let is_meant = |(iri, department): &(&String, &Department)| {
            *iri == word || vocab::local(iri) == word || department.name.eq_ignore_ascii_case(word)
        };
        self.departments.iter().find(is_meant).map(|(iri, _)| iri)
    }

    /// The role that a word stands for: its id, its IRI, the end of it, or what it is called.
    pub fn role(&self, word: &str) -> Option<(&String, &Role)> {
        self.roles.iter().find(|(iri, role)| {
            role.id == word
                || *iri == word
                || vocab::local(iri) == word
                || role.label.as_deref() == Some(word)
        })
    }
}

fn department(facts: &Facts, iri: &str) -> Department {
    Department {
        name: facts.label(iri).unwrap_or_else(|| vocab::local(iri).to_owned()),
        head: facts.one(iri, "headedBy"),
        head_assumed: false,
        starts_after: facts.ours(iri, "dependsOnDepartment"),
        informed_by: facts.ours(iri, "informedByDepartment"),
    }
}

fn server(facts: &Facts, iri: &str) -> Server {
    let arguments = facts.one(iri, "arguments").unwrap_or_default();
    Server {
        name: facts.label(iri).unwrap_or_else(|| vocab::local(iri).to_owned()),
        command: facts.one(iri, "command"),
        arguments: arguments.split_whitespace().map(str::to_owned).collect(),
        url: facts.one(iri, "url"),
        variables: facts.ours(iri, "variable"),
    }
}

fn role(facts: &Facts, iri: &str, servers: &BTreeMap<String, Server>, policies: &[Policy]) -> Role {
    let banned = facts.ours(iri, "mayNotUse");
    let may_use = facts.ours(iri, "mayUse").into_iter().filter(|server| !banned.contains(server));
    let words = WORDS.iter().filter_map(|name| Some((*name, facts.one(iri, name)?)));
    Role {
        id: facts.one(iri, "agentId").unwrap_or_else(|| vocab::local(iri).to_owned()),
        label: facts.label(iri),
        departments: facts.ours(iri, "inDepartment"),
        superiors: facts.ours(iri, "reportsTo"),
        reports: facts.ours(iri, "hasReport"),
        servers: may_use.filter(|server| servers.contains_key(server)).collect(),
        tools: facts.ours(iri, "toolName"),
        model: facts.one(iri, "model").or_else(|| model_for(facts, iri, policies)),
        words: words.collect(),
    }
}

/// A model policy: for whom, and how strong.
struct Policy {
    roles: BTreeSet<String>,
    classes: BTreeSet<String>,
    units: BTreeSet<String>,
    rank: i64,
    model: String,
}

fn policies(facts: &Facts) -> Vec<Policy> {
    let policy = |iri: String| {
        Some(Policy {
            roles: facts.ours(&iri, "forRole"),
            classes: facts.ours(&iri, "forClass"),
            units: facts.ours(&iri, "forUnit"),
            rank: facts.one(&iri, "rank").and_then(|rank| rank.parse().ok()).unwrap_or(0),
            model: facts.one(&iri, "model")?,
        })
    };
    facts.members("ModelPolicy").into_iter().filter_map(policy).collect()
}

/// The nearest policy: role before class before department before company, then the higher rank, then the name of the model.
fn model_for(facts: &Facts, role: &str, policies: &[Policy]) -> Option<String> {
    let classes = facts.all(role, rdf_type().as_str());
    let (departments, companies) = (facts.ours(role, "inDepartment"), facts.ours(role, "worksFor"));
    let nearness = |policy: &Policy| {
        if policy.roles.contains(role) {
            Some(3)
        } else if policy.classes.iter().any(|class| classes.contains(class)) {
            Some(2)
        } else if policy.units.iter().any(|unit| departments.contains(unit)) {
            Some(1)
        } else {
            policy.units.iter().any(|unit| companies.contains(unit)).then_some(0)
        }
    };
    let known = policies.iter().filter_map(|policy| Some((nearness(policy)?, policy.rank, &policy.model)));
    known.max().map(|(_, _, model)| model.clone())
}
