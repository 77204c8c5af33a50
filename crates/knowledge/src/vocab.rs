//! Names: namespaces, the words of ours that code uses, and how ids become parts of IRIs.

use oxrdf::NamedNode;

/// The namespace of our words.
pub const CV: &str = "https://w3id.org/convoke#";

/// Prefixes that every query and every export knows, with what they stand for.
pub const PREFIXES: [(&str, &str); 11] = [
    ("cv", CV),
    ("prov", "http://www.w3.org/ns/prov#"),
    ("org", "http://www.w3.org/ns/org#"),
    ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
    ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
    ("owl", "http://www.w3.org/2002/07/owl#"),
    ("xsd", "http://www.w3.org/2001/XMLSchema#"),
    ("skos", "http://www.w3.org/2004/02/skos/core#"),
    ("schema", "http://schema.org/"),
    ("dct", "http://purl.org/dc/terms/"),
    ("pplan", "http://purl.org/net/p-plan#"),
];

/// The words of ours, with their alignment to PROV-O, ORG and P-Plan.
pub const ONTOLOGY: &str = include_str!("../ontology/convoke.ttl");

/// The namespace behind a prefix that is known.
pub fn space(prefix: &str) -> &'static str {
    PREFIXES.iter().find(|(known, _)| *known == prefix).expect("one of the known prefixes").1
}

/// A word of ours.
pub fn cv(name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("{CV}{name}"))
}

/// A word of PROV-O.
pub fn prov(name: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("{}{name}", space("prov")))
}

/// `rdf:type`.
pub fn rdf_type() -> NamedNode {
    NamedNode::new_unchecked(format!("{}type", space("rdf")))
}

/// `rdfs:label`.
pub fn label() -> NamedNode {
    NamedNode::new_unchecked(format!("{}label", space("rdfs")))
}

/// Text as part of an IRI: everything but unreserved characters and `/` is percent-encoded.
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(byte as char)
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// An IRI with a known prefix in place of its namespace, for people.
pub fn short(iri: &str) -> String {
    let known = PREFIXES.iter().find_map(|(prefix, space)| Some((prefix, iri.strip_prefix(space)?)));
    match known {
        Some((prefix, local)) if !local.is_empty() && !local.contains(['/', '#']) => {
            format!("{prefix}:{local}")
        }
        _ => format!("<{iri}>"),
    }
}

/// The last part of an IRI: what people would call the thing.
pub fn local(iri: &str) -> &str {
    iri.rsplit(['#', '/', ':']).next().filter(|name| !name.is_empty()).unwrap_or(iri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_short_and_written_safely() {
        assert_eq!(short("https://w3id.org/convoke#Task"), "cv:Task");
        assert_eq!(short("https://acme.example/org#it"), "<https://acme.example/org#it>");
        assert_eq!(local("https://acme.example/org#it"), "it");
        assert_eq!(encode("a b[1]/c#2"), "a%20b%5B1%5D/c%232");
    }
}
