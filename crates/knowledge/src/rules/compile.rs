//! Axioms become rules. A file of rules is a table: one line says one rule of OWL 2 RL (the names are those of the specification).

use super::Slot::{Is, Var};
use super::{Id, Reasoner, Rule, Slot, VARIABLES};

/// The variables of rules.
const X: Slot = Var(0);
const Y: Slot = Var(1);
const Z: Slot = Var(2);
const W: Slot = Var(3);

/// Items of one list at most: a list that leads into itself ends there.
const LONGEST_LIST: usize = 10_000;

impl Reasoner {
    pub(super) fn compile(&mut self) {
        self.pairs_to_rules();
        self.kinds_of_properties();
        self.chains();
        self.disjoint_classes();
        self.lists_of_classes();
        self.restrictions();
        self.sameness();
        self.index_rules();
    }

    fn rule(&mut self, name: &'static str, axiom: String, body: Vec<[Slot; 3]>, head: Option<[Slot; 3]>) {
        self.rules.push(Rule { name, axiom, body, head, unlike: None });
    }

    /// Axioms that are one triple.
    fn pairs_to_rules(&mut self) {
        let ty = self.ty();
        let is = |class: Id| [X, Is(ty), Is(class)];
        for (c, d, axiom) in self.axioms("rdfs", "subClassOf") {
            self.rule("cax-sco", axiom, vec![is(c)], Some(is(d)));
        }
        for (c, d, axiom) in self.axioms("owl", "equivalentClass") {
            self.rule("cax-eqc1", axiom.clone(), vec![is(c)], Some(is(d)));
            self.rule("cax-eqc2", axiom, vec![is(d)], Some(is(c)));
        }
        for (c, d, axiom) in self.axioms("owl", "disjointWith") {
            self.rule("cax-dw", axiom, vec![is(c), is(d)], None);
        }
        for (c, d, axiom) in self.axioms("owl", "complementOf") {
            self.rule("cls-com", axiom, vec![is(c), is(d)], None);
        }
        for (p, c, axiom) in self.axioms("rdfs", "domain") {
            self.rule("prp-dom", axiom, vec![[X, Is(p), Y]], Some(is(c)));
        }
        for (p, c, axiom) in self.axioms("rdfs", "range") {
            self.rule("prp-rng", axiom, vec![[X, Is(p), Y]], Some([Y, Is(ty), Is(c)]));
        }
        for (p, q, axiom) in self.axioms("rdfs", "subPropertyOf") {
            self.rule("prp-spo1", axiom, vec![[X, Is(p), Y]], Some([X, Is(q), Y]));
        }
        for (p, q, axiom) in self.axioms("owl", "equivalentProperty") {
            self.rule("prp-eqp1", axiom.clone(), vec![[X, Is(p), Y]], Some([X, Is(q), Y]));
            self.rule("prp-eqp2", axiom, vec![[X, Is(q), Y]], Some([X, Is(p), Y]));
        }
        for (p, q, axiom) in self.axioms("owl", "inverseOf") {
            self.rule("prp-inv1", axiom.clone(), vec![[X, Is(p), Y]], Some([Y, Is(q), X]));
            self.rule("prp-inv2", axiom, vec![[X, Is(q), Y]], Some([Y, Is(p), X]));
        }
        for (p, q, axiom) in self.axioms("owl", "propertyDisjointWith") {
            self.rule("prp-pdw", axiom, vec![[X, Is(p), Y], [X, Is(q), Y]], None);
        }
        let nothing = self.word("owl", "Nothing");
        self.rule("cls-nothing2", "nothing is an owl:Nothing".into(), vec![is(nothing)], None);
    }

    /// Properties that are transitive, symmetric, and so on.
    fn kinds_of_properties(&mut self) {
        for (p, axiom) in self.properties_of_kind("TransitiveProperty") {
            self.rule("prp-trp", axiom, vec![[X, Is(p), Y], [Y, Is(p), Z]], Some([X, Is(p), Z]));
        }
        for (p, axiom) in self.properties_of_kind("SymmetricProperty") {
            self.rule("prp-symp", axiom, vec![[X, Is(p), Y]], Some([Y, Is(p), X]));
        }
        for (p, axiom) in self.properties_of_kind("IrreflexiveProperty") {
            self.rule("prp-irp", axiom, vec![[X, Is(p), X]], None);
        }
        for (p, axiom) in self.properties_of_kind("AsymmetricProperty") {
            self.rule("prp-asyp", axiom, vec![[X, Is(p), Y], [Y, Is(p), X]], None);
        }
        for (p, axiom) in self.properties_of_kind("FunctionalProperty") {
            let body = vec![[X, Is(p), Y], [X, Is(p), Z]];
            self.rules.push(Rule { name: "prp-fp", axiom, body, head: None, unlike: Some((1, 2)) });
        }
        for (p, axiom) in self.properties_of_kind("InverseFunctionalProperty") {
            let body = vec![[Y, Is(p), X], [Z, Is(p), X]];
            self.rules.push(Rule { name: "prp-ifp", axiom, body, head: None, unlike: Some((1, 2)) });
        }
    }

    fn chains(&mut self) {
        for (p, list, _) in self.axioms("owl", "propertyChainAxiom") {
            let chain = self.list(list);
            if chain.is_empty() || chain.len() >= VARIABLES {
                continue;
            }
            let words: Vec<String> = chain.iter().map(|p| self.words(*p)).collect();
            let body =
                chain.iter().enumerate().map(|(n, p)| [Var(n as u8), Is(*p), Var(n as u8 + 1)]).collect();
            let axiom = format!("{} owl:propertyChainAxiom ( {} )", self.words(p), words.join(" "));
            self.rule("prp-spo2", axiom, body, Some([X, Is(p), Var(chain.len() as u8)]));
        }
    }

    fn disjoint_classes(&mut self) {
        let (ty, all, members) =
            (self.ty(), self.word("owl", "AllDisjointClasses"), self.word("owl", "members"));
        for group in self.subjects(ty, all) {
            let Some(list) = self.objects(group, members).first().copied() else { continue };
            let classes = self.list(list);
            for (n, c) in classes.iter().enumerate() {
                for d in &classes[n + 1..] {
                    let axiom = format!(
                        "{} and {} are in one owl:AllDisjointClasses",
                        self.words(*c),
                        self.words(*d)
                    );
                    self.rule("cax-adc", axiom, vec![[X, Is(ty), Is(*c)], [X, Is(ty), Is(*d)]], None);
                }
            }
        }
    }

    /// Classes that are made of others.
    fn lists_of_classes(&mut self) {
        let ty = self.ty();
        let is = |class: Id| [X, Is(ty), Is(class)];
        for (c, list, _) in self.axioms("owl", "intersectionOf") {
            let parts = self.list(list);
            let axiom = format!("{} owl:intersectionOf (…)", self.words(c));
            if !parts.is_empty() && parts.len() < VARIABLES {
                self.rule("cls-int1", axiom.clone(), parts.iter().map(|d| is(*d)).collect(), Some(is(c)));
            }
            for d in parts {
                self.rule("cls-int2", axiom.clone(), vec![is(c)], Some(is(d)));
            }
        }
        for (c, list, _) in self.axioms("owl", "unionOf") {
            let axiom = format!("{} owl:unionOf (…)", self.words(c));
            for d in self.list(list) {
                self.rule("cls-uni", axiom.clone(), vec![is(d)], Some(is(c)));
            }
        }
        for (c, list, _) in self.axioms("owl", "oneOf") {
            for one in self.list(list) {
                self.add([one, ty, c], None);
            }
        }
    }

    fn restrictions(&mut self) {
        let (ty, on, thing) = (self.ty(), self.word("owl", "onProperty"), self.word("owl", "Thing"));
        for word in ["someValuesFrom", "allValuesFrom", "hasValue"] {
            for (c, d, _) in self.axioms("owl", word) {
                let Some(p) = self.objects(c, on).first().copied() else { continue };
                let axiom = format!("[ owl:onProperty {} ; owl:{word} {} ]", self.words(p), self.words(d));
                let is_c = [X, Is(ty), Is(c)];
                match word {
                    "someValuesFrom" if d == thing => {
                        self.rule("cls-svf2", axiom, vec![[X, Is(p), Y]], Some(is_c))
                    }
                    "someValuesFrom" => {
                        self.rule("cls-svf1", axiom, vec![[X, Is(p), Y], [Y, Is(ty), Is(d)]], Some(is_c))
                    }
                    "allValuesFrom" => {
                        self.rule("cls-avf", axiom, vec![is_c, [X, Is(p), Y]], Some([Y, Is(ty), Is(d)]))
                    }
                    _ => {
                        self.rule("cls-hv1", axiom.clone(), vec![is_c], Some([X, Is(p), Is(d)]));
                        self.rule("cls-hv2", axiom, vec![[X, Is(p), Is(d)]], Some(is_c));
                    }
                }
            }
        }
    }

    fn sameness(&mut self) {
        let (same, different) = (self.word("owl", "sameAs"), self.word("owl", "differentFrom"));
        let axiom = || "owl:sameAs".to_owned();
        self.rule("eq-sym", axiom(), vec![[X, Is(same), Y]], Some([Y, Is(same), X]));
        self.rule("eq-trans", axiom(), vec![[X, Is(same), Y], [Y, Is(same), Z]], Some([X, Is(same), Z]));
        if self.by_p.contains_key(&same) {
            self.rule("eq-rep-s", axiom(), vec![[X, Is(same), Y], [X, Z, W]], Some([Y, Z, W]));
            self.rule("eq-rep-o", axiom(), vec![[X, Is(same), Y], [W, Z, X]], Some([W, Z, Y]));
        }
        self.rule(
            "eq-diff1",
            "owl:differentFrom".into(),
            vec![[X, Is(same), Y], [X, Is(different), Y]],
            None,
        );
    }

    fn index_rules(&mut self) {
        let ty = self.ty();
        for (number, rule) in self.rules.iter().enumerate() {
            for (place, atom) in rule.body.iter().enumerate() {
                match atom {
                    [_, Is(p), Is(c)] if *p == ty => {
                        self.rules_by_class.entry(*c).or_default().push((number, place))
                    }
                    [_, Is(p), _] => self.rules_by_p.entry(*p).or_default().push((number, place)),
                    _ => self.rules_any.push((number, place)),
                }
            }
        }
    }

    pub(super) fn ty(&mut self) -> Id {
        self.word("rdf", "type")
    }

    /// The axioms of a word, each in words too.
    fn axioms(&mut self, prefix: &str, name: &str) -> Vec<(Id, Id, String)> {
        let p = self.word(prefix, name);
        let stated = self.by_p.get(&p).cloned().unwrap_or_default();
        let axiom = |place: usize| {
            let [s, _, o] = self.facts[place];
            (s, o, format!("{} {prefix}:{name} {}", self.words(s), self.words(o)))
        };
        stated.into_iter().map(axiom).collect()
    }

    fn properties_of_kind(&mut self, kind: &str) -> Vec<(Id, String)> {
        let (ty, class) = (self.ty(), self.word("owl", kind));
        let properties = self.subjects(ty, class);
        properties.into_iter().map(|p| (p, format!("{} a owl:{kind}", self.words(p)))).collect()
    }

    fn subjects(&self, p: Id, o: Id) -> Vec<Id> {
        self.by_po.get(&(p, o)).into_iter().flatten().map(|place| self.facts[*place][0]).collect()
    }

    fn objects(&self, s: Id, p: Id) -> Vec<Id> {
        self.by_sp.get(&(s, p)).into_iter().flatten().map(|place| self.facts[*place][2]).collect()
    }

    fn list(&mut self, mut head: Id) -> Vec<Id> {
        let (first, rest, nil) =
            (self.word("rdf", "first"), self.word("rdf", "rest"), self.word("rdf", "nil"));
        let mut items = Vec::new();
        while head != nil && items.len() < LONGEST_LIST {
            items.extend(self.objects(head, first).first());
            match self.objects(head, rest).first() {
                Some(next) => head = *next,
                None => break,
            }
        }
        items
    }
}
