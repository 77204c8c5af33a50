//! Which runs a command asks about, so that their copies are brought up to date before it looks.

use super::mirror::Mirror;
use crate::args::Command;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored::LAST;
use convoke_model::RunId;

/// What a command needs of the cluster.
pub enum Scope {
    /// It does not look at runs.
    Nothing,
    /// It, or a flag of it, does not work with a cluster.
    Refused(String),
    /// It makes a run of its own.
    New,
    /// Every run.
    All,
    /// These, by name.
    Named(Vec<String>),
    /// This one, and what happens to it while the command lasts; `None`: the last one of this folder.
    Followed(Option<String>),
}

/// What a command needs.
pub fn of(command: &Command) -> Scope {
    let named = |name: &String| Scope::Named(vec![name.clone()]);
    let refused = |name: &str| Scope::Refused(name.to_owned());
    if let Some(flag) = refused_flag(command) {
        return Scope::Refused(flag);
    }
    match command {
        Command::Run(_) | Command::Goal(_) => Scope::New,
        Command::Resume(args) => args.run.as_ref().map_or(Scope::All, named),
        Command::Attach(args) => Scope::Followed(args.run.clone()),
        Command::Events(args) if args.follow => Scope::Followed(Some(args.run.clone())),
        Command::Events(args) => named(&args.run),
        Command::Show(args) => args.run.as_ref().map_or(Scope::All, named),
        Command::Answer(args) => named(&args.run),
        Command::Stop(args) => named(&args.run),
        Command::Guide(args) => named(&args.run),
        Command::Replay(args) => named(&args.run),
        Command::Export(args) => named(&args.run),
        Command::Diff(args) => Scope::Named(vec![args.old.clone(), args.new.clone()]),
        Command::Verify(args) if args.all => Scope::All,
        Command::Verify(args) => args.run.as_ref().map_or(Scope::All, named),
        Command::Runs(_) | Command::Prune(_) => Scope::All,
        Command::Fork(_) => refused("fork"),
        Command::Serve(_) => refused("serve"),
        Command::Capacity(_) => refused("capacity"),
        Command::Instances(_) => refused("instances"),
        Command::Project(_) => refused("project"),
        Command::Workspaces(_) => refused("workspaces"),
        Command::Repair(_) => refused("repair"),
        Command::Follow(_) => refused("follow"),
        Command::Metrics(_) => refused("metrics"),
        Command::Import(_) => refused("import"),
        Command::Work(_) => refused("work"),
        Command::Top => refused("top"),
        #[cfg(feature = "knowledge")]
        Command::Knowledge(_) => refused("knowledge"),
        #[cfg(feature = "knowledge")]
        Command::Org(_) => Scope::Nothing,
        // These look at files of this machine, or are of the cluster themselves.
        Command::Check(_)
        | Command::Plan(_)
        | Command::Presets(_)
        | Command::Schema(_)
        | Command::Worker(_)
        | Command::Cluster(_)
        | Command::Test(_)
        | Command::Doctor(_)
        | Command::Prices(_)
        | Command::Policy(_)
        | Command::Trust(_)
        | Command::Secrets(_)
        | Command::Config(_)
        | Command::Completions(_)
        | Command::Complete(_)
        | Command::Man(_) => Scope::Nothing,
    }
}

/// The flag with which a command does not work with a cluster, behind the command's name.
fn refused_flag(command: &Command) -> Option<String> {
    let flags = command.run_flags()?;
    let (name, own) = match command {
        Command::Run(args) => ("run", vec![(args.reuse.is_some(), "--reuse")]),
        Command::Goal(args) => ("goal", vec![(args.interactive, "--interactive")]),
        Command::Resume(args) => (
            "resume",
            vec![
                (!args.retry.is_empty(), "--retry"),
                (args.accept_changes, "--accept-changes"),
                (args.bounds.is_stated(), "with other bounds"),
            ],
        ),
        Command::Answer(_) => ("answer", Vec::new()),
        _ => return None,
    };
    let of_all = [
        (flags.record.is_some(), "--record"),
        (flags.replay.is_some(), "--replay"),
        (flags.share, "--share"),
        (flags.web, "--web"),
    ];
    let mut all = own.into_iter().chain(of_all);
    all.find(|(given, _)| *given).map(|(_, flag)| format!("{name} {flag}"))
}

impl Scope {
    /// Brings copies up to date; answers with the run that is to be kept so.
    pub async fn prepare(self, mirror: &Mirror) -> Result<Option<RunId>, CommandFailure> {
        match self {
            Scope::Nothing | Scope::Refused(_) | Scope::New => Ok(None),
            Scope::All => mirror.bring_all().await.map(|()| None),
            Scope::Named(names) => {
                for name in &names {
                    bring(mirror, name).await?;
                }
                Ok(None)
            }
            Scope::Followed(name) => {
                let name = name.unwrap_or(LAST.to_owned());
                let found = bring(mirror, &name).await?;
                match found {
                    Some(run) => Ok(Some(run)),
                    None => Ok(Some(crate::stored::find(mirror.state(), &name)?)),
                }
            }
        }
    }
}

/// Brings the run of a name up to date; of `last`, all of them. `None`: which one it is only the copies know.
async fn bring(mirror: &Mirror, name: &str) -> Result<Option<RunId>, CommandFailure> {
    if name == LAST {
        mirror.bring_all().await?;
        return Ok(None);
    }
    let all = mirror.list().await?;
    let mut fits = all.iter().filter(|line| line.run.0.starts_with(name));
    match (fits.next(), fits.next()) {
        (Some(line), None) => {
            mirror.bring(&line.run).await?;
            Ok(Some(line.run.clone()))
        }
        (None, _) => Err(CommandFailure::new(Exit::Usage, format!("the cluster has no run `{name}`"))
            .hint("`convoke runs` lists them")),
        // The command says which ones, as ever: it looks at the copies.
        (Some(_), Some(_)) => {
            for line in all.iter().filter(|line| line.run.0.starts_with(name)) {
                mirror.bring(&line.run).await?;
            }
            Ok(None)
        }
    }
}
