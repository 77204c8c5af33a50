//! Rules run from each new fact until nothing new follows.

use super::Slot::{Is, Var};
use super::{Contradiction, Fact, Id, Reasoner, Slot, VARIABLES};
use oxrdf::Term;

/// What the variables of a rule stand for.
type Bound = [Option<Id>; VARIABLES];

impl Reasoner {
    pub(super) fn run(&mut self) {
        let ty = self.ty();
        let mut next = 0;
        while next < self.facts.len() {
            let fact = self.facts[next];
            let by_class = (fact[1] == ty).then(|| self.rules_by_class.get(&fact[2])).flatten();
            let by_predicate = self.rules_by_p.get(&fact[1]);
            let starts: Vec<_> =
                by_class.into_iter().chain(by_predicate).flatten().chain(&self.rules_any).copied().collect();
            for (rule, place) in starts {
                let mut bound = [None; VARIABLES];
                if bind(&self.rules[rule].body[place], fact, &mut bound) {
                    let mut used = vec![None; self.rules[rule].body.len()];
                    used[place] = Some(next);
                    self.join(rule, bound, used);
                }
            }
            next += 1;
        }
    }

    /// Finds facts for the rest of a rule's body; the part of which most is known comes first.
    fn join(&mut self, rule: usize, bound: Bound, used: Vec<Option<usize>>) {
        let known = |place: &usize| {
            let is_known = |slot: &&Slot| value(**slot, &bound).is_some();
            self.rules[rule].body[*place].iter().filter(is_known).count()
        };
        let open = (0..used.len()).filter(|place| used[*place].is_none());
        let Some(place) = open.max_by_key(known) else { return self.conclude(rule, &bound, &used) };
        let atom = self.rules[rule].body[place];
        for fact in self.facts_like(atom.map(|slot| value(slot, &bound))) {
            let mut bound = bound;
            if bind(&atom, self.facts[fact], &mut bound) {
                let mut used = used.clone();
                used[place] = Some(fact);
                self.join(rule, bound, used);
            }
        }
    }

    fn facts_like(&self, pattern: [Option<Id>; 3]) -> Vec<usize> {
        let all = |found: Option<&Vec<usize>>| found.cloned().unwrap_or_default();
        match pattern {
            [Some(s), Some(p), Some(o)] => self.known.get(&[s, p, o]).copied().into_iter().collect(),
            [Some(s), Some(p), None] => all(self.by_sp.get(&(s, p))),
            [None, Some(p), Some(o)] => all(self.by_po.get(&(p, o))),
            [None, Some(p), None] => all(self.by_p.get(&p)),
            [s, None, o] => {
                let fits = |fact: &Fact| s.is_none_or(|s| fact[0] == s) && o.is_none_or(|o| fact[2] == o);
                (0..self.facts.len()).filter(|place| fits(&self.facts[*place])).collect()
            }
        }
    }

    fn conclude(&mut self, rule: usize, bound: &Bound, used: &[Option<usize>]) {
        let used: Vec<usize> = used.iter().flatten().copied().collect();
        let the = &self.rules[rule];
        let Some(head) = the.head else {
            let is_alike = the.unlike.is_some_and(|(a, b)| bound[a as usize] == bound[b as usize]);
            if !is_alike {
                self.contradict(rule, used);
            }
            return;
        };
        let fact = head.map(|slot| value(slot, bound).expect("the body binds what the head names"));
        // A literal is no subject.
        if !matches!(self.name_of(fact[0]), Term::Literal(_)) {
            self.add(fact, Some((rule, used)));
        }
    }

    /// The same facts are one contradiction, whatever rules they break and in whatever order they are met.
    fn contradict(&mut self, rule: usize, facts: Vec<usize>) {
        let mut key = facts.clone();
        key.sort_unstable();
        key.dedup();
        if self.reported.insert(key) {
            let (name, axiom) = (self.rules[rule].name, self.rules[rule].axiom.clone());
            self.contradictions.push(Contradiction { rule: name, axiom, facts });
        }
    }
}

fn value(slot: Slot, bound: &Bound) -> Option<Id> {
    match slot {
        Is(id) => Some(id),
        Var(v) => bound[v as usize],
    }
}

fn bind(atom: &[Slot; 3], fact: Fact, bound: &mut Bound) -> bool {
    atom.iter().zip(fact).all(|(slot, id)| match slot {
        Is(wanted) => *wanted == id,
        Var(v) => *bound[*v as usize].get_or_insert(id) == id,
    })
}
