//! Questions of programs to graphs.

use super::toy::Toy;
use super::world::{World, answered, program, suspended};
use crate::{Asker, Tool, ToolResult, Toolbox};
use convoke_model::{AttemptEnd, Failure, JsonText, Servers};
use futures::future::BoxFuture;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio_util::sync::CancellationToken;

/// A graph whose answers say how often it was asked.
#[derive(Default)]
struct Counting(AtomicU32);

impl Toolbox for Counting {
    fn list<'a>(&'a self, _: Asker<'a>, _: &'a Servers) -> BoxFuture<'a, Result<Vec<Tool>, Failure>> {
        unreachable!("programs know their functions")
    }

    fn call<'a>(
        &'a self,
        _: Asker<'a>,
        servers: &'a Servers,
        tool: &'a Tool,
        _: &'a JsonText,
        _: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResult, Failure>> {
        assert!(servers.contains_key("convoke"));
        let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        let text = json!({"columns": ["asked", "by"], "rows": [[number, tool.name]], "truncated": false});
        Box::pin(std::future::ready(Ok(ToolResult { text: text.to_string(), ..ToolResult::default() })))
    }
}

fn world(replies: &[&str]) -> (World, Arc<Counting>) {
    let (mut world, graph) = (World::new(replies), Arc::new(Counting::default()));
    world.toolbox = graph.clone();
    (world, graph)
}

/// A program that cannot be saved is run again, and is given what it was given then.
#[tokio::test]
async fn an_answer_is_recorded_and_not_asked_for_again() {
    let lines = program("kg_bulk_export []\nllm [\"a\"]\nowl_query [\"<a> <b> <c> .\", \"ASK {}\"]\nagain");
    let (mut world, graph) = world(&[&lines]);
    world.programs = Arc::new(Toy { forgets: true, ..Toy::default() });
    suspended(world.attempt(vec![]).await);
    assert_eq!(graph.0.load(Ordering::SeqCst), 1);
    let end = world.attempt(vec![answered(Ok("yes"))]).await;
    let AttemptEnd::Finished { output, .. } = end else { panic!("{end:?}") };
    assert_eq!(output.value()["result"], json!([{"asked": 2, "by": "owl_query"}]));
    assert_eq!(graph.0.load(Ordering::SeqCst), 2, "the export was not asked for again");
}

#[tokio::test]
async fn where_no_graph_is_the_function_says_so_by_name() {
    let world = World::new(&[&program("kg_bulk_export []\nshow"), &program("final [1]")]);
    world.finish("").await.unwrap();
    let told = &world.asked()[1][3].text;
    assert!(told.contains("kind: Runtime") && told.contains("kg_bulk_export(): "), "{told}");
}

#[tokio::test]
async fn a_session_asks_graphs_a_bounded_number_of_times() {
    let many = "kg_bulk_export []\n".repeat(51);
    let (world, graph) = world(&[&program(&format!("{many}show")), &program("final [1]")]);
    world.finish("").await.unwrap();
    assert_eq!(graph.0.load(Ordering::SeqCst), 50);
    assert!(world.asked()[1][3].text.contains("50 times"), "{}", world.asked()[1][3].text);
}
