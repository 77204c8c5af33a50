//! Answers that every call may give, in the document of the API: they come from what every request passes, and not from its handler.

use serde_json::{Map, Value, json};

/// What may be answered to every call: the status, and when.
const ALWAYS: [(&str, &str); 6] = [
    ("400", "the path, the query or the body is not what the call takes"),
    ("401", "the request carries no token, or one that is not known or was revoked"),
    ("403", "the token's role does not suffice, another site's page asks, or a step of a run"),
    ("421", "the server is not called by that name"),
    ("500", "a defect of the server"),
    ("503", "the state folder cannot be used at this moment, or the server stops"),
];

/// To calls that have a body.
const WITH_BODY: [(&str, &str); 3] = [
    ("408", "the body has not come in time"),
    ("413", "the body is too large"),
    ("415", "the body is not JSON"),
];

/// To calls about one run.
const OF_A_RUN: [(&str, &str); 2] = [
    ("404", "there is no such run, or no such thing in it"),
    ("409", "the run does not stand so that it could be done, or its journal is damaged"),
];

/// Adds them to each call that does not describe them itself.
pub(super) fn describe(document: &mut Value) {
    let Some(paths) = document["paths"].as_object_mut() else { return };
    for (path, calls) in paths {
        for (method, call) in calls.as_object_mut().into_iter().flatten() {
            let Some(answers) = call["responses"].as_object_mut() else { continue };
            let mut more = ALWAYS.to_vec();
            more.extend(WITH_BODY.iter().filter(|_| method != "get"));
            more.extend(OF_A_RUN.iter().filter(|_| path.starts_with("/runs/{run}")));
            more.into_iter().for_each(|(status, when)| add(answers, status, when));
            answers.sort_keys();
        }
    }
}

fn add(answers: &mut Map<String, Value>, status: &str, when: &str) {
    let schema = json!({ "$ref": "#/components/schemas/ErrorBody" });
    let answer = json!({ "description": when, "content": { "application/json": { "schema": schema } } });
    let known = answers.entry(status).or_insert_with(|| answer);
    if known["description"] == "" {
        known["description"] = when.into();
    }
}
