//! `convoke secrets`: the vault, and whether the secrets of a file can be fetched.
//!
//! Nothing here shows a value but `get`, and that at a terminal alone unless it is asked to do otherwise. Values come from a terminal, from
//! standard input or from a file; an argument could be read by every process of the machine.

use crate::args::{
    Format, SecretsArgs, SecretsCheckArgs, SecretsCommand, SecretsGetArgs, SecretsInitArgs, SecretsSetArgs,
};
use crate::clock;
use crate::console::Console;
use crate::driving::needed_secrets;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::secrets::{self, ask_twice, key, typed, vault, vault_failure};
use crate::stdio;
use crate::subject::Subject;
use crate::view::format::plural;
use convoke_journal::StateDir;
use convoke_model::Timestamp;
use convoke_secrets::{Key, KeyKind, VaultError, new_identity, private, value};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use std::io::{IsTerminal, Read};
use std::path::Path;
use zeroize::Zeroizing;

/// Does what was asked.
pub fn run(console: &Console, args: &SecretsArgs) -> Result<Exit, CommandFailure> {
    match &args.command {
        SecretsCommand::Init(args) => init(console, args),
        SecretsCommand::Set(args) => set(console, args),
        SecretsCommand::Get(args) => get(console, args),
        SecretsCommand::List(args) => list(console, args.format),
        SecretsCommand::Remove(args) => remove(console, &args.name),
        SecretsCommand::Check(args) => check(console, args),
    }
}

fn init(console: &Console, args: &SecretsInitArgs) -> Result<Exit, CommandFailure> {
    StateDir::open(&console.config.own_state)?;
    let vault = vault(&console.config);
    if vault.description().map_err(vault_failure)?.is_some() && vault.exists() {
        return Err(vault_failure(VaultError::Exists));
    }
    let (key, kind, opened_by) = match &args.identity {
        None => {
            let passphrase = ask_twice(&console.config, "passphrase of the new vault: ")?;
            long_enough(&passphrase)?;
            (Key::Passphrase(passphrase), KeyKind::Passphrase, "the passphrase opens it".to_owned())
        }
        Some(path) => {
            let key = identity(path)?;
            let file = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            let recipient = key.recipient().expect("an identity has one");
            let opened_by = format!("{} opens it ({recipient})", file.display());
            (key, KeyKind::Identity { file, recipient }, opened_by)
        }
    };
    vault.init(&key, kind).map_err(vault_failure)?;
    console.conclude(&format!("made an empty vault: {opened_by}; without that its secrets are lost"));
    Ok(Exit::Success)
}

fn identity(path: &Path) -> Result<Key, CommandFailure> {
    match path.exists() {
        true => Key::from_identity_file(path),
        false => new_identity(path),
    }
    .map_err(vault_failure)
}

/// Guessing is what a passphrase has to withstand: whoever copies the file can try at leisure.
fn long_enough(passphrase: &SecretString) -> Result<(), CommandFailure> {
    const LEAST: usize = 10;
    match passphrase.expose_secret().chars().count() {
        LEAST.. => Ok(()),
        count => Err(CommandFailure::new(
            Exit::Refused,
            format!("the passphrase has {}; at least {LEAST} are wanted", plural(count as u64, "character")),
        )
        .hint("use several unrelated words")),
    }
}

fn set(console: &Console, args: &SecretsSetArgs) -> Result<Exit, CommandFailure> {
    // The vault opens first: nobody types a value that cannot be kept.
    let key = key(&console.config)?;
    let value = new_value(args)?;
    let now = clock::now().0 / 1_000_000;
    let was = vault(&console.config).set(&key, &args.name, &value, now).map_err(vault_failure)?;
    console.conclude(&format!("{} `{}`", if was { "replaced" } else { "set" }, args.name));
    Ok(Exit::Success)
}

fn new_value(args: &SecretsSetArgs) -> Result<SecretString, CommandFailure> {
    let name = &args.name;
    let unusable = |why: String| CommandFailure::new(Exit::Refused, format!("the value of `{name}`: {why}"));
    if let Some(path) = &args.from_file {
        return private::secret(path).map_err(|why| unusable(format!("`{}`: {why}", path.display())));
    }
    if std::io::stdin().is_terminal() {
        let text = typed(&format!("value of {name} (not shown): "))?;
        return value::of_text(&text).map_err(|why| unusable(why.to_string()));
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(value::LONGEST + 3));
    std::io::stdin().take(value::LONGEST as u64 + 3).read_to_end(&mut bytes)?;
    value::of_output(bytes).map_err(|why| unusable(why.to_string()))
}

fn get(console: &Console, args: &SecretsGetArgs) -> Result<Exit, CommandFailure> {
    if !args.reveal && !stdio::out_is_terminal() {
        let message = format!("`{}` is shown at a terminal, and standard output is none", args.name);
        return Err(CommandFailure::new(Exit::Refused, message).hint("--reveal prints it all the same"));
    }
    let key = key(&console.config)?;
    let found = vault(&console.config).get(&key, &[&args.name]).map_err(vault_failure)?.pop();
    let (_, value) = found.ok_or_else(|| unknown(&args.name))?;
    console.exact(&Zeroizing::new(format!("{}\n", value.expose_secret())))?;
    Ok(Exit::Success)
}

fn unknown(name: &str) -> CommandFailure {
    CommandFailure::new(Exit::Usage, format!("the vault has no `{name}`"))
        .hint("`convoke secrets list` says what it has")
}

fn list(console: &Console, format: Format) -> Result<Exit, CommandFailure> {
    let key = key(&console.config)?;
    let all = vault(&console.config).list(&key).map_err(vault_failure)?;
    let date = |seconds: u64| Timestamp(seconds * 1_000_000).rfc3339();
    match format {
        Format::Json => console.json(
            &all.iter()
                .map(|one| json!({ "name": one.name, "set_at": date(one.set_at) }))
                .collect::<Vec<_>>(),
        )?,
        Format::Text if all.is_empty() => console.say("the vault is empty"),
        Format::Text => {
            let width = all.iter().map(|one| one.name.len()).max().unwrap_or_default();
            let line =
                |one: &convoke_secrets::Listed| format!("{:width$}  set {}", one.name, date(one.set_at));
            console.data(&(all.iter().map(line).collect::<Vec<_>>().join("\n") + "\n"))?;
        }
    }
    Ok(Exit::Success)
}

fn remove(console: &Console, name: &str) -> Result<Exit, CommandFailure> {
    let key = key(&console.config)?;
    match vault(&console.config).remove(&key, name).map_err(vault_failure)? {
        true => console.conclude(&format!("removed `{name}`")),
        false => return Err(unknown(name)),
    }
    Ok(Exit::Success)
}

fn check(console: &Console, args: &SecretsCheckArgs) -> Result<Exit, CommandFailure> {
    let sources = match &args.file {
        None => console.config.secrets.clone(),
        Some(file) => {
            let subject = Subject::of(file, Vec::new(), false)?;
            let compiled = subject.compile(&console.config, None)?;
            let plan = crate::compiling::accept(console, &subject.file, compiled, false)?;
            needed_secrets(&plan, &console.config)
        }
    };
    let all = secrets::each(&console.config, &sources)?;
    let missing = all.iter().filter(|(_, fetched)| fetched.is_err()).count();
    match args.format.format {
        Format::Json => {
            let row = |(name, fetched): &(String, secrets::Fetched)| {
                let why = fetched.as_ref().err().map(|missing| &missing.why);
                json!({ "name": name, "from": sources[name].to_string(), "ok": why.is_none(), "why": why })
            };
            console.json(&all.iter().map(row).collect::<Vec<_>>())?;
        }
        Format::Text if all.is_empty() => console.say("no secrets are named"),
        Format::Text => {
            for (name, fetched) in &all {
                let stands = match fetched {
                    Ok(_) => console.paint.good("ok:"),
                    Err(_) => console.paint.bad("missing:"),
                };
                let why =
                    fetched.as_ref().err().map(|missing| format!(": {}", missing.why)).unwrap_or_default();
                console.complain(&format!("{stands} `{name}` from {}{why}", sources[name]));
            }
        }
    }
    match missing {
        0 => Ok(Exit::Success),
        count => Err(CommandFailure::new(
            Exit::Refused,
            format!("{} cannot be fetched", plural(count as u64, "secret")),
        )),
    }
}
