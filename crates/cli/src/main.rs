//! The `convoke` command: reads the command line, does what it says, and ends with a code that scripts can rely on.

mod args;
mod caller;
mod cassette;
mod cedar;
mod changes;
mod clock;
#[cfg_attr(not(feature = "cluster"), path = "without_cluster.rs")]
mod cluster;
mod cockpit;
mod commands;
mod compiling;
mod config;
mod config_snapshot;
mod detaching;
mod driving;
mod env;
mod exit;
mod failure;
mod following;
mod gate;
mod given;
mod notifying;
mod plan_text;
mod printing;
mod retention;
mod retrying;
mod reusing;
mod secrets;
mod serving;
mod short_history;
mod stored;
mod subject;
mod trust;
mod view;
mod watch;
mod workspaces;

use given::{given_plan, goal_request, inputs, organisation, presets, sources};
use printing::{advice, console, diagnostics, difference, escape, json_log, paint, stdio};

use clap::Parser;
use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Before there is a thread or an open file: a worker takes these rights away from itself.
    if driving::programs::is_worker(std::env::args_os().nth(1).as_deref()) {
        return convoke_tools::serve_programs();
    }
    #[cfg(feature = "knowledge")]
    if let Some(folder) = driving::queries::worker_folder(std::env::args_os()) {
        return convoke_knowledge::worker::serve(&folder);
    }
    stdio::show_panics();
    #[cfg(debug_assertions)]
    arm_failpoints();
    convoke_tools::raise_descriptor_limit();
    close_to_others();
    // Help, version and usage errors end the program in here, before any file is read.
    let cli = match parsed() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    if cli.global.log_format == Some(args::LogFormat::Json) {
        json_log::switch_on();
    }
    let console = match console::Console::open(&cli.global, &cli.command) {
        Ok(console) => console,
        Err(failure) => return end_badly(&failure, paint::Paint::off()),
    };
    if cli.global.detached.is_none() && cli.command.run_flags().is_some_and(|flags| flags.detach) {
        let words = args::as_conductor_writes(std::env::args_os());
        return detaching::start(words).unwrap_or_else(|failure| end_badly(&failure, console.paint));
    }
    match commands::run(cli, &console) {
        Ok(exit) => exit.into(),
        Err(failure) => end_badly(&failure, console.paint),
    }
}

/// Has a build for tests die at a place, or count places.
#[cfg(debug_assertions)]
fn arm_failpoints() {
    let (target, counts) = (env::get_filled(env::FAILPOINT), env::get_filled(env::FAILPOINT_COUNTS));
    if target.is_none() && counts.is_none() {
        return;
    }
    if let Err(problem) =
        convoke_failpoint::arm(target.as_deref(), counts.as_deref().map(std::path::Path::new))
    {
        stdio::err(&format!("{}: {problem}", env::FAILPOINT));
        std::process::exit(exit::Exit::Usage as i32);
    }
}

fn parsed() -> Result<args::Cli, ExitCode> {
    let words: Vec<OsString> = args::as_conductor_writes(std::env::args_os()).collect();
    let is_hostile = |word: &OsString| word.to_string_lossy().contains(convoke_model::is_control);
    args::Cli::try_parse_from(&words).map_err(|error| {
        // A usage error quotes the word that is wrong, colours around it.
        if !error.use_stderr() || !words.iter().any(is_hostile) {
            error.exit();
        }
        stdio::err(&error.render().to_string());
        ExitCode::from(error.exit_code() as u8)
    })
}

/// Keeps other processes of the same user, such as the scripts that this one starts, out of its memory and environment, where
/// keys of providers are (`/proc/PID/mem`, `/proc/PID/environ`, debuggers, core files). Nothing keeps root out.
fn close_to_others() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // The kernel knows this since its beginnings; one that does not has nothing better.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).ok();
}

fn end_badly(failure: &failure::CommandFailure, paint: paint::Paint) -> ExitCode {
    let text = failure.render(paint);
    if !text.is_empty() {
        stdio::err(&text);
    }
    failure.exit.into()
}
