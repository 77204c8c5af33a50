//! Opens a page in the person's browser.
//!
//! The link holds a token, and every process may read the arguments of another. So the browser is given a private file that leads to the link.

use crate::failure::CommandFailure;
use convoke_journal::{StateDir, replace_private};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The file that leads to the page; it goes with this.
pub struct Opened(PathBuf);

impl Drop for Opened {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

/// Opens a link; `None` where nothing opens links here.
pub fn open(state: &StateDir, link: &str) -> Result<Option<Opened>, CommandFailure> {
    let path = state.path().join(format!("open-{}.html", std::process::id()));
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
         <meta http-equiv=\"refresh\" content=\"0;url={link}\"><title>Convoke</title>\n"
    );
    replace_private(&path, page.as_bytes())?;
    let opened = Opened(path);
    for program in ["xdg-open", "open"] {
        let mut command = Command::new(program);
        command.arg(&opened.0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Ok(mut child) = command.spawn() {
            std::thread::spawn(move || child.wait());
            return Ok(Some(opened));
        }
    }
    Ok(None)
}
