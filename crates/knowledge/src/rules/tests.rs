//! Rules, each by a small example, and what a proof names.

use super::*;
use oxttl::TurtleParser;

const HEAD: &str = "@prefix : <http://x/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
    @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .";

fn reasoner(text: &str) -> Reasoner {
    let text = format!("{HEAD}{text}");
    let triples: Vec<Triple> = TurtleParser::new().for_slice(&text).collect::<Result<_, _>>().unwrap();
    Reasoner::new(&triples)
}

fn follows(text: &str, fact: &str) -> bool {
    let text_of = |text: &str| {
        let text = format!("{HEAD}{text}");
        TurtleParser::new().for_slice(&text).next().unwrap().unwrap()
    };
    let wanted = text_of(fact);
    reasoner(text).triples().any(|triple| triple == wanted)
}

fn rules_broken(text: &str) -> Vec<&'static str> {
    reasoner(text).contradictions().iter().map(|one| one.rule).collect()
}

#[test]
fn what_follows() {
    let cases = [
        (":A rdfs:subClassOf :B . :x a :A .", ":x a :B ."),
        (":A owl:equivalentClass :B . :x a :B .", ":x a :A ."),
        (":p rdfs:domain :A . :x :p :y .", ":x a :A ."),
        (":p rdfs:range :A . :x :p :y .", ":y a :A ."),
        (":p rdfs:subPropertyOf :q . :x :p :y .", ":x :q :y ."),
        (":p owl:inverseOf :q . :x :q :y .", ":y :p :x ."),
        (":p a owl:TransitiveProperty . :x :p :y . :y :p :z . :z :p :w .", ":x :p :w ."),
        (":p a owl:SymmetricProperty . :x :p :y .", ":y :p :x ."),
        (":p owl:propertyChainAxiom ( :q :r ) . :x :q :y . :y :r :z .", ":x :p :z ."),
        (":A owl:intersectionOf ( :B :C ) . :x a :B , :C .", ":x a :A ."),
        (":A owl:unionOf ( :B :C ) . :x a :C .", ":x a :A ."),
        (":A owl:onProperty :p ; owl:someValuesFrom owl:Thing . :x :p :y .", ":x a :A ."),
        (":A owl:onProperty :p ; owl:allValuesFrom :B . :x a :A ; :p :y .", ":y a :B ."),
        (":A owl:onProperty :p ; owl:hasValue :v . :x a :A .", ":x :p :v ."),
        (":x owl:sameAs :y . :x :p :z .", ":y :p :z ."),
    ];
    for (text, fact) in cases {
        assert!(follows(text, fact), "{text} gives {fact}");
    }
    assert!(!follows(":A rdfs:subClassOf :B . :x a :B .", ":x a :A ."));
}

#[test]
fn what_cannot_be() {
    assert_eq!(rules_broken(":A owl:disjointWith :B . :x a :A , :B ."), ["cax-dw"]);
    assert_eq!(
        rules_broken("[] a owl:AllDisjointClasses ; owl:members ( :A :B ) . :x a :A , :B ."),
        ["cax-adc"]
    );
    assert_eq!(rules_broken(":p a owl:IrreflexiveProperty . :x :p :x ."), ["prp-irp"]);
    assert_eq!(rules_broken(":p a owl:AsymmetricProperty . :x :p :y . :y :p :x ."), ["prp-asyp"]);
    assert_eq!(rules_broken(":p a owl:FunctionalProperty . :x :p :y , :z ."), ["prp-fp"]);
    assert_eq!(rules_broken(":p owl:propertyDisjointWith :q . :x :p :y ; :q :y ."), ["prp-pdw"]);
    assert_eq!(rules_broken(":p a owl:FunctionalProperty . :x :p :y ."), [""; 0]);
}

#[test]
fn a_proof_names_what_was_stated() {
    let reasoner = reasoner(":A owl:disjointWith :B . :p rdfs:domain :A . :x a :B ; :p :y .");
    let [one] = reasoner.contradictions() else { panic!("one contradiction") };
    let stated: Vec<String> = reasoner.stated(one).iter().map(ToString::to_string).collect();
    let expected = [
        "<http://x/x> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://x/B>",
        "<http://x/x> <http://x/p> <http://x/y>",
    ];
    assert_eq!(stated, expected);
    let lines = reasoner.proof(one);
    assert!(
        lines.iter().any(|line| line.by.as_ref().is_some_and(|(rule, _)| *rule == "prp-dom")),
        "{lines:?}"
    );
}
