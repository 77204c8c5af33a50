//! `convoke serve token`: the tokens by which a server knows its callers.

use crate::args::{Format, RoleChoice, TokenCommand};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::CommandFailure;
use crate::stored;
use convoke_model::Timestamp;
use convoke_server::{Role, Token, TokenError, Tokens};
use serde_json::json;
use std::error::Error;

/// Makes, lists or takes away.
pub(super) fn run(console: &Console, command: &TokenCommand) -> Result<Exit, CommandFailure> {
    let tokens = Tokens::of(&stored::for_writing(console)?);
    match command {
        TokenCommand::Add(args) => {
            let secret = tokens.add(&args.name, role(args.role)).map_err(failure)?;
            console.data(&secret)?;
            console.say("it is kept nowhere and shown this once: `Authorization: Bearer TOKEN`");
        }
        TokenCommand::List(args) => list(console, &tokens.list().map_err(failure)?, args.format)?,
        TokenCommand::Revoke(args) => {
            tokens.revoke(&args.name).map_err(failure)?;
            console.conclude(&format!("token `{}` is refused from now on", args.name));
        }
    }
    Ok(Exit::Success)
}

fn list(console: &Console, tokens: &[Token], format: Format) -> Result<(), CommandFailure> {
    let made = |token: &Token| Timestamp(token.made.saturating_mul(1_000_000)).rfc3339();
    match format {
        Format::Json => {
            let record = |token: &Token| json!({"name": token.name, "role": token.role, "made": made(token)});
            console.json(&tokens.iter().map(record).collect::<Vec<_>>())
        }
        Format::Text if tokens.is_empty() => {
            console.say("no token is kept; each server makes one for its own link");
            Ok(())
        }
        Format::Text => {
            let line = |token: &Token| format!("{:<24} {:<8} {}", token.name, token.role.word(), made(token));
            console.data(&tokens.iter().map(line).collect::<Vec<_>>().join("\n"))
        }
    }
}

fn role(choice: RoleChoice) -> Role {
    match choice {
        RoleChoice::View => Role::View,
        RoleChoice::Operate => Role::Operate,
        RoleChoice::Approve => Role::Approve,
    }
}

/// Why tokens cannot be kept or found.
pub(super) fn failure(error: TokenError) -> CommandFailure {
    let exit = match &error {
        TokenError::Known(_) | TokenError::Unknown(_) => Exit::Usage,
        TokenError::Format { .. } => Exit::Refused,
        TokenError::File { .. } | TokenError::State(_) => Exit::State,
    };
    let mut failure = CommandFailure::new(exit, error.to_string());
    failure.causes.extend(error.source().map(ToString::to_string));
    match error {
        TokenError::Unknown(_) => failure.hint("convoke serve token list"),
        TokenError::Known(name) => failure.hint(format!("convoke serve token revoke {name}")),
        TokenError::Format { path, .. } => failure.hint(format!("remove `{}` to begin anew", path.display())),
        _ => failure,
    }
}
