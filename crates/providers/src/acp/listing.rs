//! Which models an agent offers: what it says of a session that is then left alone.

use super::connection::{self, Files};
use super::files::Folder;
use super::live::unheard;
use super::trouble::Trouble;
use super::{choices, session};
use crate::program::Running;
use convoke_model::{Failure, Program};
use std::path::PathBuf;
use std::time::Duration;

/// How long an agent may take to come up, and to open a session.
const PATIENCE: Duration = Duration::from_secs(30);

/// The models; none where the agent does not let one choose.
pub async fn models(
    mut running: Running,
    program: &Program,
    folder: PathBuf,
) -> Result<Vec<String>, Failure> {
    let files = Files { folder: Folder::new(&folder), readable: false, writable: false, mask: None };
    let streams = running.streams();
    let mut ways_in = Vec::new();
    let listing = async {
        let mut line = connection::open(streams, files.clone()).await?;
        let greeting = session::greet(&line.to, &files, program, PATIENCE).await?;
        ways_in.clone_from(&greeting.ways_in);
        unheard(&mut line, |to| session::offered(to, &greeting, folder, PATIENCE)).await
    };
    match listing.await {
        Ok(offered) => Ok(choices::models(&offered)),
        Err(trouble) => {
            let name = format!("agent `{}`", program.command);
            Err(Trouble::failure(trouble, &name, &mut running, &ways_in).await)
        }
    }
}
