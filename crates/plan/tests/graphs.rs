//! Random small graphs: circles are always found, graphs without one are never refused, and names are only names.

use crate::world;

use convoke_plan::compile::Compiled;
use proptest::prelude::*;
use world::{compiled, findings, shown};

/// Which steps each step points to.
type Graph = Vec<Vec<usize>>;

fn graphs() -> impl Strategy<Value = Graph> {
    (1usize..8).prop_flat_map(|count| prop::collection::vec(prop::collection::vec(0..count, 0..3), count))
}

/// Whether there is a way of at least one edge between two steps, for all pairs.
fn ways(graph: &Graph) -> Vec<Vec<bool>> {
    let count = graph.len();
    let mut way = vec![vec![false; count]; count];
    for (from, targets) in graph.iter().enumerate() {
        targets.iter().for_each(|to| way[from][*to] = true);
    }
    for middle in 0..count {
        for from in 0..count {
            for to in 0..count {
                way[from][to] |= way[from][middle] && way[middle][to];
            }
        }
    }
    way
}

fn unique(mut targets: Vec<usize>) -> Vec<usize> {
    targets.sort_unstable();
    targets.dedup();
    targets
}

fn list(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// A file whose steps need each other; two steps more make it legal to leave the entry point out.
fn with_needs(graph: &Graph, name: &dyn Fn(usize) -> String) -> String {
    let mut text = String::from(
        "workflow: {name: w}\nagents:\n  - {name: first, prompt: x}\n  - {name: second, prompt: x, needs: [first]}\n",
    );
    for (ix, needs) in graph.iter().enumerate() {
        let needs = list(unique(needs.clone()).into_iter().map(name));
        text += &format!("  - {{name: {}, prompt: x, needs: [{needs}]}}\n", name(ix));
    }
    text
}

/// A file whose steps lead to each other, each of them reading another.
fn with_routes(graph: &Graph, reads: &[usize], name: &dyn Fn(usize) -> String) -> String {
    let mut text = format!("workflow: {{name: w, entry_point: {}}}\nagents:\n", name(0));
    for (ix, next) in graph.iter().enumerate() {
        let routes =
            list(unique(next.clone()).into_iter().map(|to| format!("{{to: {}, when: 'x'}}", name(to))));
        let read = name(reads[ix]);
        text +=
            &format!("  - {{name: {}, prompt: '{{{{ {read}.output.x }}}}', routes: [{routes}]}}\n", name(ix));
    }
    text
}

fn has(result: &Compiled, code: &str) -> bool {
    result.diagnostics.iter().any(|found| found.code == code)
}

/// The circle that a message shows, as numbers.
fn circle(result: &Compiled) -> Vec<usize> {
    let found = result.diagnostics.iter().find(|found| found.code == "workflow::dependency_cycle").unwrap();
    let names = found.message.rsplit(": ").next().unwrap();
    names.split(" → ").map(|name| name.trim_start_matches('s').parse().unwrap()).collect()
}

proptest! {
    #[test]
    fn a_circle_of_needs_is_found_exactly_when_there_is_one(graph in graphs()) {
        let result = compiled(&with_needs(&graph, &|ix| format!("s{ix}")));
        let way = ways(&graph);
        let circular = (0..graph.len()).any(|ix| way[ix][ix]);
        prop_assert_eq!(has(&result, "workflow::dependency_cycle"), circular, "{}", shown(&result));
        prop_assert_eq!(result.plan.is_some(), !circular, "{}", shown(&result));
    }

    #[test]
    fn the_circle_that_is_shown_is_one(graph in graphs()) {
        let result = compiled(&with_needs(&graph, &|ix| format!("s{ix}")));
        if has(&result, "workflow::dependency_cycle") {
            let circle = circle(&result);
            prop_assert_eq!(circle.first(), circle.last());
            prop_assert!(circle.windows(2).all(|pair| graph[pair[0]].contains(&pair[1])));
        }
    }

    #[test]
    fn a_reference_is_refused_exactly_when_no_path_can_have_run_it(
        (graph, reads) in graphs().prop_flat_map(|graph| {
            let count = graph.len();
            (Just(graph), prop::collection::vec(0..count, count))
        })
    ) {
        let result = compiled(&with_routes(&graph, &reads, &|ix| format!("s{ix}")));
        let way = ways(&graph);
        let runs = |ix: usize| ix == 0 || way[0][ix];
        let expected: Vec<usize> = (0..graph.len())
            .filter(|ix| runs(*ix) && !(runs(reads[*ix]) && way[reads[*ix]][*ix]))
            .map(|ix| ix + 3)
            .collect();
        let refused: Vec<usize> = findings(&result)
            .into_iter()
            .filter(|(code, _)| *code == "workflow::never_before")
            .map(|(_, line)| line)
            .collect();
        prop_assert_eq!(refused, expected, "{}", shown(&result));
    }

    #[test]
    fn renaming_steps_changes_nothing((graph, reads, turn) in graphs().prop_flat_map(|graph| {
        let count = graph.len();
        (Just(graph), prop::collection::vec(0..count, count), 0..count)
    })) {
        let count = graph.len();
        let renamed = |ix: usize| format!("{}{}", if turn == 0 { "t" } else { "s" }, (ix + turn) % count);
        for file in [&|name: &dyn Fn(usize) -> String| with_needs(&graph, name) as String,
                     &|name: &dyn Fn(usize) -> String| with_routes(&graph, &reads, name)] as [&dyn Fn(&dyn Fn(usize) -> String) -> String; 2] {
            let plain = compiled(&file(&|ix| format!("s{ix}")));
            let other = compiled(&file(&renamed));
            prop_assert_eq!(findings(&plain), findings(&other));
            let hashes = |result: &Compiled| result.plan.as_ref().map(|plan| plan.root().nodes.len());
            prop_assert_eq!(hashes(&plain), hashes(&other));
        }
    }
}
