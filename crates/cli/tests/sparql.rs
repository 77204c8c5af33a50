//! `/sparql` and what is sent to it by mistake or with intent: no request is answered outside of the document, none ends the server, and
//! nothing is changed or fetched.

use crate::serving::{Answered, Served};
use crate::support::World;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

const QUERY: &str = "application/sparql-query";
const FORM: &str = "application/x-www-form-urlencoded";

fn world() -> World {
    let flow = "workflow: {name: w, entry_point: a}\nagents: [{name: a, type: set, value: '1'}]\n";
    let world = World::with_workflow(flow);
    world.convoke(&["run", "w.yaml"]).exits(0);
    world
}

/// Posts a body of this kind, or of none.
fn post(served: &Served, kind: Option<&str>, body: &str) -> Answered {
    let mut headers = served.honest();
    headers.retain(|(name, _)| name != "Content-Type");
    headers.extend(kind.map(|kind| ("Content-Type".to_owned(), kind.to_owned())));
    served.send("POST", "/api/v1/sparql", &headers, body)
}

/// What went in is still there, and nothing else.
#[track_caller]
fn is_whole(served: &Served) {
    let found = post(served, Some(QUERY), "SELECT ?w { ?r cv:workflow ?w }").is(200).json();
    assert_eq!(found["results"]["bindings"].as_array().unwrap().len(), 1, "{found}");
}

#[test]
fn a_query_without_a_token_is_not_read() {
    let world = world();
    let served = Served::over(&world);
    let mut headers = served.honest();
    headers.retain(|(name, _)| name != "Authorization");
    for (method, path, body) in
        [("GET", "/api/v1/sparql?query=ASK%20%7B%7D", ""), ("POST", "/api/v1/sparql", "ASK {}")]
    {
        served.send(method, path, &headers, body).is(401);
        let wrong = [&headers[..], &[("Authorization".to_owned(), "Bearer no".to_owned())]].concat();
        served.send(method, path, &wrong, body).is(401);
    }
    let view = world.convoke(&["serve", "token", "add", "eyes", "--role", "view"]).exits(0);
    served.as_token(view.stdout.trim(), "GET", "/sparql?query=ASK%20%7B%7D", "").is(200);
}

#[test]
fn a_body_that_is_no_query_is_refused_as_the_document_says() {
    let world = world();
    let served = Served::over(&world);
    for kind in [
        None,
        Some("text/plain"),
        Some("application/json"),
        Some("multipart/form-data"),
        Some("application/sparql-query2"),
    ] {
        assert_eq!(post(&served, kind, "ASK {}").is(415).code(), "content_type", "{kind:?}");
    }
    post(&served, Some("application/sparql-query; charset=utf-8"), "ASK {}").is(200);
    for (kind, body) in [
        (QUERY, ""),
        (QUERY, "?"),
        (QUERY, "ASK {} ASK {}"),
        (QUERY, "\0"),
        (FORM, ""),
        (FORM, "quer=ASK"),
        (FORM, "query=%ff%fe"),
        (FORM, "query=a&query=b"),
    ] {
        let refused = post(&served, Some(kind), body).is(400);
        assert!(!refused.code().is_empty(), "{kind} {body}: {refused:?}");
    }
    for (kind, body) in
        [("application/sparql-update", "DROP ALL"), (FORM, "update=DROP%20ALL"), (FORM, "query=ASK&update=x")]
    {
        assert_eq!(post(&served, Some(kind), body).is(403).code(), "read_only");
    }
    is_whole(&served);
}

#[test]
fn a_body_that_is_no_text_or_has_no_end_is_refused() {
    let world = world();
    let served = Served::over(&world);
    let raw = |body: &[u8], length: usize| {
        let mut stream = served.connect();
        let mut head = "POST /api/v1/sparql HTTP/1.1\r\nConnection: close\r\n".to_owned();
        let kind = [
            ("Content-Type".to_owned(), QUERY.to_owned()),
            ("Content-Length".to_owned(), length.to_string()),
        ];
        let headers = served.honest().into_iter().filter(|(name, _)| name != "Content-Type").chain(kind);
        headers.for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
        stream.write_all(body).ok();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok();
        String::from_utf8_lossy(&answer).into_owned()
    };
    let answer = raw(b"ASK { ?s ?p '\xff\xfe' }", 18);
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("UTF-8"), "{answer}");
    // What it says of its length is enough: it is not waited for.
    let answer = raw(b"ASK", 64 << 20);
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("too_large"), "{answer}");
    let long = format!("ASK {{ ?s ?p '{}' }}", "x".repeat(2 << 20));
    assert!(
        [413, 0].contains(&post(&served, Some(QUERY), &long).status),
        "it is refused, or not read to its end"
    );
    is_whole(&served);
}

/// Each comes to an end within its bounds, whatever it asks for; none reads a file, calls another server or changes the graph.
#[test]
fn hostile_queries_end_and_leave_everything_as_it_is() {
    let world = world();
    let served = Served::over(&world);
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let address = format!("http://{}/x", elsewhere.local_addr().unwrap());
    let nested = |open: &str, inner: &str, close: &str, depth: usize| {
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    let refused = [
        format!("SELECT * {{ SERVICE <{address}> {{ ?s ?p ?o }} }}"),
        format!("SELECT * {{ SERVICE SILENT <{address}> {{ ?s ?p ?o }} }}"),
        format!("LOAD <{address}>"),
        "DROP ALL".to_owned(),
        "INSERT DATA { <x:a> <x:b> <x:c> }".to_owned(),
        "DELETE WHERE { ?s ?p ?o }".to_owned(),
    ];
    for query in &refused {
        post(&served, Some(QUERY), query).is(400);
    }
    let mut ending = vec![
        "SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }".to_owned(),
        format!("SELECT * FROM <{address}> {{ ?s ?p ?o }}"),
        format!("SELECT * {}", nested("{", "?s ?p ?o", "}", 3_000)),
        format!("SELECT * {{ ?s ?p ?o FILTER{} }}", nested("(", "?o", ")", 3_000)),
        format!("SELECT * {{ ?s ?p ?o FILTER({}?o) }}", "!".repeat(10_000)),
        "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }".to_owned(),
        "SELECT (COUNT(*) AS ?n) { ?a (cv:dependsOn|!cv:dependsOn)* ?b }".to_owned(),
        "SELECT * { ?s cv:taskId ?o FILTER(REGEX(?o, \"^(a+)+$\")) }".to_owned(),
    ];
    let folder = Path::new(&std::env::var("CONVOKE_SHARED").unwrap_or_else(|_| "../../../shared".to_owned()))
        .join("spec/knowledge/queries/hostile");
    for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        ending.push(std::fs::read_to_string(file.path()).unwrap());
    }
    for query in &ending {
        let begun = Instant::now();
        let answer = post(&served, Some(QUERY), query);
        let words: String = query.chars().take(80).collect();
        assert!([200, 400, 503].contains(&answer.status), "{words}: {answer:?}");
        assert!(answer.status == 200 || !answer.code().is_empty(), "{words}: {answer:?}");
        assert!(!answer.body.contains("root:"), "{words}: {answer:?}");
        assert!(begun.elapsed() < Duration::from_secs(60), "{words} took {:?}", begun.elapsed());
    }
    assert!(elsewhere.accept().is_err(), "no query calls another server");
    is_whole(&served);
}
