//! Prepared questions: a name, what it asks in words, and a query with parameters.

/// A value that a question takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Its value where none is given; `None`: it must be.
    pub default: Option<&'static str>,
}

/// A question.
#[derive(Debug, Clone, Copy)]
pub struct Prepared {
    /// Its name.
    pub name: &'static str,
    /// What it asks.
    pub about: &'static str,
    /// What it takes.
    pub parameters: &'static [Parameter],
    /// SPARQL, with `$NAME` for parameters as text.
    query: &'static str,
}

const RUN: Parameter = Parameter { name: "run", about: "a run, as `convoke runs` lists it", default: None };
const ROLE: Parameter =
    Parameter { name: "role", about: "a role, a step or a part of its name", default: None };
const SINCE: Parameter =
    Parameter { name: "since", about: "the first day, as 2026-11-19", default: Some("0001-01-01") };
const OTHER: Parameter = Parameter { name: "other", about: "the other run", default: None };
const TEXT: Parameter = Parameter { name: "words", about: "words that a text must have", default: None };

/// All of them.
pub fn prepared() -> &'static [Prepared] {
    &ALL
}

/// The question of a name.
pub fn find(name: &str) -> Option<&'static Prepared> {
    ALL.iter().find(|one| one.name == name)
}

impl Prepared {
    /// The query with the values in it; the error names what is missing or unknown.
    pub fn query(&self, given: &[(String, String)]) -> Result<String, String> {
        if let Some((name, _)) =
            given.iter().find(|(name, _)| !self.parameters.iter().any(|known| known.name == name))
        {
            let known: Vec<&str> = self.parameters.iter().map(|known| known.name).collect();
            let takes = if known.is_empty() {
                "it takes none".to_owned()
            } else {
                format!("it takes {}", known.join(", "))
            };
            return Err(format!("question `{}` has no parameter `{name}`: {takes}", self.name));
        }
        let mut query = self.query.to_owned();
        for parameter in self.parameters {
            let stated =
                given.iter().find(|(name, _)| name == parameter.name).map(|(_, value)| value.as_str());
            let value = stated.or(parameter.default).ok_or_else(|| {
                format!("question `{}` needs `{}`: {}", self.name, parameter.name, parameter.about)
            })?;
            query = query.replace(&format!("${}", parameter.name), &quoted(value));
        }
        Ok(query)
    }
}

/// A text of SPARQL: what was given is never read as a query.
fn quoted(value: &str) -> String {
    let mut out = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

const ALL: [Prepared; 15] = [
    Prepared {
        name: "sources",
        about: "Where does the answer of a run come from?",
        parameters: &[RUN],
        query: "SELECT ?task ?role ?model (COUNT(DISTINCT ?citation) AS ?cited) WHERE {
            ?run cv:runId $run . ?answer a cv:Answer ; prov:wasGeneratedBy ?run ; prov:wasDerivedFrom+ ?result .
            ?result prov:wasGeneratedBy ?t . ?t cv:taskId ?task .
            OPTIONAL { ?t prov:wasAssociatedWith ?who . ?who rdfs:label ?role }
            OPTIONAL { ?t cv:askedModel ?model } OPTIONAL { ?citation cv:cites ?result }
            } GROUP BY ?task ?role ?model ORDER BY ?task",
    },
    Prepared {
        name: "citations",
        about: "What do the answers of a run cite, and which citations are wrong?",
        parameters: &[RUN],
        query: "SELECT ?task ?citation ?source ?verdict WHERE {
            ?run cv:runId $run . ?t cv:inExecution ?run ; cv:taskId ?task . ?result prov:wasGeneratedBy ?t .
            ?c cv:citedIn ?result ; cv:verdict ?verdict . BIND(STRAFTER(STR(?c), \":citation:\") AS ?citation)
            OPTIONAL { ?c cv:cites ?cited . ?cited prov:wasGeneratedBy ?other . ?other cv:taskId ?source }
            } ORDER BY ?task ?c ?source",
    },
    Prepared {
        name: "cost",
        about: "What did each role cost, in US dollars?",
        parameters: &[SINCE],
        query: "SELECT ?role (SUM(?micros) / 1000000 AS ?usd) (COUNT(?a) AS ?attempts) (SUM(?out) AS ?output_tokens) WHERE {
            ?run a cv:ParallelExecution ; cv:day ?day . FILTER(STR(?day) >= $since)
            ?t cv:inExecution ?run ; prov:wasAssociatedWith ?who . ?a cv:attemptOf ?t .
            OPTIONAL { ?a cv:costMicros ?cost } OPTIONAL { ?a cv:outputTokens ?tokens }
            BIND(COALESCE(?cost, 0) AS ?micros) BIND(COALESCE(?tokens, 0) AS ?out)
            OPTIONAL { ?who rdfs:label ?label } BIND(COALESCE(?label, STR(?who)) AS ?role)
            } GROUP BY ?role ORDER BY DESC(?usd) DESC(?output_tokens) ?role",
    },
    Prepared {
        name: "cost-per-day",
        about: "What did a role cost each day, in US dollars?",
        parameters: &[ROLE, SINCE],
        query: "SELECT ?day ?role (SUM(?micros) / 1000000 AS ?usd) WHERE {
            ?run a cv:ParallelExecution ; cv:day ?day . FILTER(STR(?day) >= $since)
            ?t cv:inExecution ?run ; prov:wasAssociatedWith ?who . ?a cv:attemptOf ?t .
            OPTIONAL { ?a cv:costMicros ?cost } BIND(COALESCE(?cost, 0) AS ?micros)
            OPTIONAL { ?who rdfs:label ?label } BIND(COALESCE(?label, STR(?who)) AS ?role)
            FILTER(CONTAINS(LCASE(?role), LCASE($role)) || CONTAINS(LCASE(STR(?who)), LCASE($role)))
            } GROUP BY ?day ?role ORDER BY DESC(?day) ?role",
    },
    Prepared {
        name: "failing",
        about: "Which steps fail most, and how?",
        parameters: &[SINCE],
        query: "SELECT ?workflow ?step ?class (COUNT(?a) AS ?failures) WHERE {
            ?run cv:workflow ?workflow ; cv:day ?day . FILTER(STR(?day) >= $since)
            ?t cv:inExecution ?run ; cv:taskId ?step . ?a cv:attemptOf ?t ; cv:failureClass ?class .
            } GROUP BY ?workflow ?step ?class ORDER BY DESC(?failures) ?workflow ?step LIMIT 50",
    },
    Prepared {
        name: "failed-tasks",
        about: "What failed for good in a run, and what was left out because of it?",
        parameters: &[RUN],
        query: "SELECT ?task ?status ?class ?cause ?because WHERE {
            ?run cv:runId $run . ?t cv:inExecution ?run ; cv:taskId ?task ; cv:status ?status .
            FILTER(?status != cv:Succeeded)
            OPTIONAL { ?t cv:failureClass ?class } OPTIONAL { ?t cv:cause ?cause }
            OPTIONAL { ?t cv:causedBy ?other . ?other cv:taskId ?because } } ORDER BY ?task",
    },
    Prepared {
        name: "slowest",
        about: "Which steps was a run waited for (its critical path)?",
        parameters: &[RUN],
        query: "SELECT ?step ?task (?micros / 1000000 AS ?seconds) WHERE {
            ?run cv:runId $run . ?t cv:inExecution ?run ; cv:criticalStep ?step ; cv:taskId ?task ; cv:durationMicros ?micros .
            } ORDER BY ?step",
    },
    Prepared {
        name: "models",
        about: "How often is each model asked, and how often does it fail?",
        parameters: &[SINCE],
        query: "SELECT ?model (COUNT(?a) AS ?attempts) (SUM(IF(?status = cv:Failed, 1, 0)) AS ?failed) WHERE {
            ?run cv:day ?day . FILTER(STR(?day) >= $since)
            ?t cv:inExecution ?run ; cv:askedModel ?model . ?a cv:attemptOf ?t ; cv:status ?status .
            } GROUP BY ?model ORDER BY DESC(?attempts) ?model",
    },
    Prepared {
        name: "fallbacks",
        about: "Where did another model answer than the one that was asked?",
        parameters: &[SINCE],
        query: "SELECT ?run_id ?task ?asked ?answered WHERE {
            ?run cv:runId ?run_id ; cv:day ?day . FILTER(STR(?day) >= $since)
            ?t cv:inExecution ?run ; cv:taskId ?task ; cv:askedModel ?asked . ?a cv:attemptOf ?t ; cv:answeredByModel ?answered .
            FILTER(?asked != ?answered) } ORDER BY DESC(?run_id) ?task LIMIT 200",
    },
    Prepared {
        name: "runs",
        about: "Which runs are there, what did they cost, and how did they end?",
        parameters: &[SINCE],
        query: "SELECT ?run_id ?workflow ?status ?tasks ?failed (SUM(?micros) / 1000000 AS ?usd) WHERE {
            ?run a cv:ParallelExecution ; cv:runId ?run_id ; cv:workflow ?workflow ; cv:day ?day . FILTER(STR(?day) >= $since)
            OPTIONAL { ?run cv:status ?status ; cv:tasksEnded ?tasks ; cv:tasksFailed ?failed }
            OPTIONAL { ?t cv:inExecution ?run . ?a cv:attemptOf ?t ; cv:costMicros ?cost } BIND(COALESCE(?cost, 0) AS ?micros)
            } GROUP BY ?run_id ?workflow ?status ?tasks ?failed ORDER BY DESC(?run_id) LIMIT 100",
    },
    Prepared {
        name: "changed",
        about: "Which tasks of two runs ended differently, or with another content?",
        parameters: &[RUN, OTHER],
        query: "SELECT ?task ?status ?other_status (COALESCE(?c1, \"\") != COALESCE(?c2, \"\") AS ?other_content) WHERE {
            ?one cv:runId $run . ?t1 cv:inExecution ?one ; cv:taskId ?task ; cv:status ?status .
            ?two cv:runId $other . ?t2 cv:inExecution ?two ; cv:taskId ?task ; cv:status ?other_status .
            OPTIONAL { ?r1 prov:wasGeneratedBy ?t1 ; cv:content ?d1 BIND(STR(?d1) AS ?c1) }
            OPTIONAL { ?r2 prov:wasGeneratedBy ?t2 ; cv:content ?d2 BIND(STR(?d2) AS ?c2) }
            FILTER(?status != ?other_status || COALESCE(?c1, \"\") != COALESCE(?c2, \"\")) } ORDER BY ?task",
    },
    Prepared {
        name: "went-into",
        about: "Into which answers did the work of a role go?",
        parameters: &[ROLE],
        query: "SELECT DISTINCT ?run_id ?workflow WHERE {
            ?who a cv:AgentRole ; rdfs:label ?label . FILTER(CONTAINS(LCASE(?label), LCASE($role)) || CONTAINS(LCASE(STR(?who)), LCASE($role)))
            ?t prov:wasAssociatedWith ?who . ?r prov:wasGeneratedBy ?t . ?answer prov:wasDerivedFrom+ ?r ; a cv:Answer ; prov:wasGeneratedBy ?run .
            ?run cv:runId ?run_id ; cv:workflow ?workflow } ORDER BY DESC(?run_id)",
    },
    Prepared {
        name: "tools",
        about: "Which tools are called, how long do they take, and how often do they fail?",
        parameters: &[],
        query: "SELECT ?tool (COUNT(?call) AS ?calls) (SUM(IF(BOUND(?status), 1, 0)) AS ?failed) (AVG(?micros) / 1000 AS ?mean_ms) WHERE {
            ?call a cv:ToolUse ; cv:tool ?name ; cv:durationMicros ?micros . OPTIONAL { ?call cv:status ?status }
            BIND(REPLACE(STR(?name), \"^urn:convoke:tool:\", \"\") AS ?tool) } GROUP BY ?tool ORDER BY DESC(?calls) ?tool",
    },
    Prepared {
        name: "people",
        about: "Where was a person asked?",
        parameters: &[SINCE],
        query: "SELECT ?run_id ?task WHERE {
            ?t cv:answeredBy cv:Person ; cv:taskId ?task ; cv:inExecution ?run . ?run cv:runId ?run_id ; cv:day ?day .
            FILTER(STR(?day) >= $since) } ORDER BY DESC(?run_id) ?task",
    },
    Prepared {
        name: "find",
        about: "What has these words in its name or in a text that the graph holds?",
        parameters: &[TEXT],
        query: "SELECT DISTINCT ?what ?text WHERE { ?what cv:matches $words ; ?p ?text .
            FILTER(?p IN (rdfs:label, cv:taskId, cv:workflow, cv:message, cv:failureReason)) } LIMIT 100",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_texts_and_never_part_of_the_query() {
        let given = [("run".to_owned(), "\" } . DROP ALL #\\".to_owned())];
        let query = find("sources").unwrap().query(&given).unwrap();
        assert!(query.contains(r#"cv:runId "\" } . DROP ALL #\\" ."#), "{query}");
    }

    #[test]
    fn every_question_is_a_query_that_may_run() {
        for one in prepared() {
            let given: Vec<(String, String)> =
                one.parameters.iter().map(|parameter| (parameter.name.to_owned(), "x".to_owned())).collect();
            let query = one.query(&given).unwrap();
            super::super::refuse::checked(&query, &super::super::Bounds::AGENT)
                .unwrap_or_else(|why| panic!("{}: {why}", one.name));
        }
    }

    #[test]
    fn what_is_missing_or_unknown_is_named() {
        assert!(find("sources").unwrap().query(&[]).unwrap_err().contains("needs `run`"));
        let wrong = [("rnu".to_owned(), String::new())];
        assert!(find("sources").unwrap().query(&wrong).unwrap_err().contains("it takes run"));
    }
}
