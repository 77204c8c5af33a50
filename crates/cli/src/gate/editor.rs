//! A text that a person changes in an editor of their choice.

use crate::env;
use std::io::Write;
use std::process::Command;
use tempfile::NamedTempFile;

/// Has the editor of the environment change a text; in words why not, where there is none or it fails.
pub fn edit(text: &str) -> Result<String, String> {
    let Some(editor) = env::first(&env::EDITOR) else {
        return Err("no editor is known: set VISUAL or EDITOR".to_owned());
    };
    edit_with(&editor, text)
}

/// The same with a given editor: a program, perhaps with arguments. No shell reads it.
fn edit_with(editor: &str, text: &str) -> Result<String, String> {
    let file = draft(text).map_err(|error| format!("the plan cannot be written: {error}"))?;
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or_default();
    let ended = Command::new(program).args(words).arg(file.path()).status();
    match ended {
        Err(error) => Err(format!("the editor `{editor}` cannot be started: {error}")),
        Ok(status) if !status.success() => {
            Err(format!("the editor `{editor}` failed: the plan is unchanged"))
        }
        Ok(_) => {
            std::fs::read_to_string(file.path()).map_err(|error| format!("the plan cannot be read: {error}"))
        }
    }
}

/// The text in a file that only its owner may read, gone with this value.
fn draft(text: &str) -> std::io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix("convoke-plan-").suffix(".yaml").tempfile()?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_changes_the_text_and_a_failing_one_does_not() {
        assert_eq!(edit_with("sed -i s/a/b/", "a: 1\n"), Ok("b: 1\n".to_owned()));
        assert!(edit_with("false", "a").unwrap_err().contains("unchanged"));
        assert!(edit_with("/no/such/editor", "a").unwrap_err().contains("cannot be started"));
    }
}
