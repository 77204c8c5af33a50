//! One file per command.

pub(crate) mod answer;
pub(crate) mod attach;
pub(crate) mod capacity;
mod check;
mod events;
mod fork;
mod goal;
pub(crate) mod guide;
mod instances;
#[cfg(feature = "knowledge")]
mod knowledge;
#[cfg(feature = "knowledge")]
mod org;
pub(crate) mod plan;
mod policy;
mod presets;
mod prices;
mod project;
mod resume;
mod run;
mod secrets;
mod serve;
pub(crate) mod show;
pub(crate) mod stop;
mod storage;
pub(crate) mod telling;
mod test;
mod time_travel;
mod tooling;
mod trust;
mod work;
mod workspaces;

pub use storage::prune::conclusion as prune_conclusion;
use storage::{export, export_html, import, prune, repair, runs, verify};
use telling::{export_otlp, follow, metrics};
use time_travel::{diff, replay};
use tooling::{complete, completions, config, config_keys, doctor, man, schema};

pub(crate) use fork::permit;

use crate::args::{Cli, Command, ConfigCommand};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;

/// What a project's file says and what does not count, where no run tells it.
fn tell_left_out(console: &Console) {
    console.config.left_out.iter().for_each(|remark| console.warn(remark));
}

/// Does what was asked.
pub fn run(cli: Cli, console: &Console) -> Result<Exit, CommandFailure> {
    crate::caller::may_give(&cli.command)?;
    let (console, session) = &crate::cluster::enter(&cli.command, console)?;
    let ended = dispatch(cli, console);
    session.leave(ended.is_ok());
    ended
}

fn dispatch(cli: Cli, console: &Console) -> Result<Exit, CommandFailure> {
    match cli.command {
        Command::Run(args) => run::run(console, &args),
        // What does not count of the project's file may be why it is refused.
        Command::Goal(args) => goal::run(console, &args).inspect_err(|_| tell_left_out(console)),
        Command::Guide(args) => guide::run(console, &args),
        Command::Resume(args) => resume::run(console, &args),
        Command::Fork(args) => fork::run(console, &args),
        Command::Attach(args) => attach::run(console, &args),
        Command::Answer(args) => answer::run(console, &args),
        Command::Plan(args) => plan::run(console, &args),
        Command::Check(args) => check::run(console, &args),
        Command::Runs(args) => runs::run(console, &args),
        Command::Capacity(args) => capacity::run(console, &args),
        Command::Instances(args) => instances::run(console, args.format),
        Command::Serve(args) => {
            tell_left_out(console);
            serve::run(console, &args)
        }
        Command::Top => crate::cockpit::run(console),
        Command::Show(args) => show::run(console, &args),
        Command::Events(args) => events::run(console, &args),
        Command::Diff(args) => diff::run(console, &args),
        Command::Replay(args) => replay::run(console, &args),
        Command::Verify(args) => verify::run(console, &args),
        Command::Repair(args) => repair::run(console, &args),
        Command::Export(args) => match (&args.otlp, &args.html) {
            (Some(url), _) => export_otlp::run(console, &args, url),
            (None, Some(file)) => export_html::run(console, &args, file),
            (None, None) => export::run(console, &args),
        },
        Command::Follow(args) => {
            tell_left_out(console);
            follow::run(console, &args)
        }
        Command::Metrics(args) => metrics::run(console, &args),
        Command::Import(args) => import::run(console, &args),
        Command::Prune(args) => prune::run(console, &args),
        Command::Stop(args) => stop::run(console, &args),
        Command::Work(args) => work::run(console, &args),
        Command::Worker(args) => crate::cluster::worker(console, &args),
        Command::Cluster(command) => crate::cluster::command(console, &command),
        Command::Test(args) => test::run(console, &args),
        Command::Schema(args) => schema::run(console, args.of),
        Command::Project(args) => project::run(console, &args),
        Command::Workspaces(args) => workspaces::run(console, &args),
        Command::Presets(args) => presets::run(console, &args),
        Command::Policy(args) => policy::run(console, &args),
        Command::Trust(args) => trust::run(console, &args),
        Command::Secrets(args) => secrets::run(console, &args),
        Command::Prices(args) => prices::run(console, &args),
        #[cfg(feature = "knowledge")]
        Command::Org(args) => org::run(console, &args),
        #[cfg(feature = "knowledge")]
        Command::Knowledge(args) => knowledge::run(console, &args),
        Command::Doctor(args) => {
            tell_left_out(console);
            doctor::run(console, &args)
        }
        Command::Config(ConfigCommand::Show(args)) => config::show(console, args.format),
        Command::Config(ConfigCommand::Keys(args)) => config_keys::keys(console, args.format),
        Command::Config(ConfigCommand::Variables(args)) => config_keys::variables(console, args.format),
        Command::Completions(args) => completions::run(console, args.shell),
        Command::Complete(args) => complete::run(console, &args),
        Command::Man(args) => man::run(console, args.dir.as_deref()),
    }
}
