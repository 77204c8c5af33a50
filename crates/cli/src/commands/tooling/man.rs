//! `convoke man`: the manual, generated from the same words as the help.

use crate::args::Cli;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use clap::CommandFactory;
use clap_mangen::Man;
use std::path::Path;

/// Prints the main page, or writes a page per command.
pub fn run(console: &Console, dir: Option<&Path>) -> Result<Exit, CommandFailure> {
    match dir {
        None => console.data(&main_page()?)?,
        Some(dir) => write_all(dir)?,
    }
    Ok(Exit::Success)
}

fn main_page() -> Result<String, CommandFailure> {
    let mut page = render(&Man::new(Cli::command()))?;
    page.push_str(".SH ENVIRONMENT\n");
    for variable in crate::env::LIST {
        page.push_str(&format!(
            ".TP\n\\fB{}\\fR\n{}\n",
            variable.name,
            variable.meaning.replace('\\', "\\\\")
        ));
    }
    Ok(page)
}

fn write_all(dir: &Path) -> Result<(), CommandFailure> {
    let write = |name: String, page: String| {
        let path = dir.join(name);
        std::fs::write(&path, page).map_err(|error| {
            CommandFailure::new(Exit::Failed, format!("cannot write `{}`: {error}", path.display()))
        })
    };
    std::fs::create_dir_all(dir).map_err(|error| {
        CommandFailure::new(Exit::Failed, format!("cannot make `{}`: {error}", dir.display()))
    })?;
    write("convoke.1".to_owned(), main_page()?)?;
    let mut whole = Cli::command();
    whole.build();
    for command in whole.get_subcommands() {
        let name = format!("convoke-{}", command.get_name());
        let page = Man::new(command.clone()).title(name.clone());
        write(format!("{name}.1"), render(&page)?)?;
    }
    Ok(())
}

fn render(man: &Man) -> Result<String, CommandFailure> {
    let mut page = Vec::new();
    man.render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
