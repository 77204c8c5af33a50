//! The tests' server as a process of its own, which speaks on its standard streams. Each start adds a line to the file
//! that the variable `STARTS` names.

#[path = "../tests/support/server.rs"]
mod server;

use rmcp::ServiceExt;
use std::io::Write;

#[tokio::main]
async fn main() {
    if let Some(path) = std::env::var_os("STARTS") {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(b"started\n").unwrap();
    }
    let streams = (tokio::io::stdin(), tokio::io::stdout());
    let service = server::TestServer::default().serve(streams).await.unwrap();
    service.waiting().await.unwrap();
}
