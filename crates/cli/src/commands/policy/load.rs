//! A policy by its name or from its file, with every mistake of it shown at its place.

use crate::cedar;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use convoke_plan::diagnostic::{Diagnostic, SourceFile, Span};
use convoke_policy::{Authorities, Authority, Finding, NoAuthorities, PRESETS, Policy};
use std::path::Path;
use std::sync::Arc;

/// The policy of a name, or of a file.
pub fn policy(console: &Console, name: &str) -> Result<Policy, CommandFailure> {
    if let Some(preset) = Policy::preset(name) {
        return Ok(preset);
    }
    let text = std::fs::read_to_string(Path::new(name)).map_err(|error| {
        CommandFailure::new(Exit::Usage, format!("policy `{name}` cannot be read: {error}"))
            .hint(format!("name a file, or one of: {}", PRESETS.join(", ")))
    })?;
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    read(console, name, text, folder)
}

/// The policy of a text; the Cedar rules that it names lie in a folder.
pub fn read(console: &Console, path: &str, text: String, folder: &Path) -> Result<Policy, CommandFailure> {
    let found = match Policy::parse_with(&text, &In(folder)) {
        Ok(policy) => return Ok(policy),
        Err(found) => found,
    };
    let file = Arc::new(SourceFile { path: path.to_owned(), text });
    for finding in &found {
        console.finding(&diagnostic(finding, &file), true);
    }
    let count = crate::view::format::plural(found.len() as u64, "error");
    Err(CommandFailure::new(Exit::Refused, format!("policy `{path}` has {count}"))
        .hint("convoke schema policy > policy.schema.json gives editors the keys"))
}

/// Cedar rules in a folder.
struct In<'a>(&'a Path);

impl Authorities for In<'_> {
    fn read(&self, name: &str) -> Result<Arc<dyn Authority>, String> {
        let Some(read) = cedar::READ else { return NoAuthorities.read(name) };
        read(&std::fs::read_to_string(self.0.join(name)).map_err(|error| error.to_string())?)
    }
}

fn diagnostic(finding: &Finding, file: &Arc<SourceFile>) -> Diagnostic {
    let span = Span { file: file.clone(), range: finding.range.clone() };
    let diagnostic = Diagnostic::error(finding.code, finding.message.clone(), span, "here");
    finding.help.iter().fold(diagnostic, |diagnostic, help| diagnostic.help(help.clone()))
}
