//! Tokens: names, roles, and what is kept of them.
//!
//! The file has the hash of each token and never the token, so that reading it is of no use to a process of the same user. A token is shown
//! once, when it is made. The file is read again when it has changed: what is revoked is refused at once. A server makes one more for its
//! own link, which lives as long as the server does and is in no file.

use convoke_journal::{Error as JournalError, StateDir, replace_private};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::SystemTime;
use utoipa::ToSchema;

/// What a token may do. Each role may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Look.
    View,
    /// Start, stop, resume and guide runs, and change limits.
    Operate,
    /// Answer what runs ask.
    Approve,
}

impl Role {
    /// The word for people and files.
    pub const fn word(self) -> &'static str {
        match self {
            Role::View => "view",
            Role::Operate => "operate",
            Role::Approve => "approve",
        }
    }
}

/// A token, without what makes it one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its name.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// When it was made, in seconds since 1970.
    pub made: u64,
    /// The hash of the token.
    hash: String,
}

/// Why tokens cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read or written.
    #[error("the tokens in `{path}` cannot be used")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not what this program writes.
    #[error("the tokens in `{path}` cannot be read: {why}")]
    Format {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The state folder does not take the file.
    #[error(transparent)]
    State(#[from] JournalError),
    /// There is one of that name.
    #[error("there is a token `{0}` already")]
    Known(String),
    /// There is none of that name.
    #[error("there is no token `{0}`")]
    Unknown(String),
}

/// The tokens of a state folder, and one of the server's own.
pub struct Tokens {
    path: PathBuf,
    own: Option<(blake3::Hash, Token)>,
    read: Mutex<Option<(SystemTime, Vec<Token>)>>,
}

impl Tokens {
    /// Those of a state folder.
    pub fn of(state: &StateDir) -> Tokens {
        Tokens { path: state.path().join("tokens.json"), own: None, read: Mutex::new(None) }
    }

    /// Makes a token for this process alone: the link that a person opens.
    pub fn with_own(mut self, name: &str, role: Role) -> Result<(Tokens, String), TokenError> {
        let secret = self.draw()?;
        let token = made(name, role, &secret);
        self.own = Some((hash_of(&secret), token));
        Ok((self, secret))
    }

    /// Every token of the file.
    pub fn list(&self) -> Result<Vec<Token>, TokenError> {
        let text = match std::fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(TokenError::File { path: self.path.clone(), source }),
        };
        serde_json::from_slice(&text)
            .map_err(|error| TokenError::Format { path: self.path.clone(), why: error.to_string() })
    }

    /// Makes a token and keeps its hash; the token itself is told here and never again.
    pub fn add(&self, name: &str, role: Role) -> Result<String, TokenError> {
        let mut tokens = self.list()?;
        if tokens.iter().any(|token| token.name == name) {
            return Err(TokenError::Known(name.to_owned()));
        }
        let secret = self.draw()?;
        tokens.push(made(name, role, &secret));
        self.write(&tokens)?;
        Ok(secret)
    }

    /// Takes a token away.
    pub fn revoke(&self, name: &str) -> Result<(), TokenError> {
        let mut tokens = self.list()?;
        let before = tokens.len();
        tokens.retain(|token| token.name != name);
        if tokens.len() == before {
            return Err(TokenError::Unknown(name.to_owned()));
        }
        self.write(&tokens)
    }

    /// The token that a caller holds. How long this takes does not depend on how much of the token is right.
    pub fn find(&self, secret: &str) -> Option<Token> {
        let hash = hash_of(secret);
        let own = self.own.iter().find(|(known, _)| *known == hash).map(|(_, token)| token.clone());
        own.or_else(|| self.current().into_iter().find(|token| is_hash(token, &hash)))
    }

    /// Whether a token that was found before still is one: it was not revoked, nor replaced by another of its name.
    pub(crate) fn has(&self, token: &Token) -> bool {
        self.own.iter().any(|(_, own)| own == token) || self.current().contains(token)
    }

    /// The file's tokens, read when it has changed. One that cannot be read has none.
    fn current(&self) -> Vec<Token> {
        let mut read = self.read.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Ok(changed) = std::fs::metadata(&self.path).and_then(|file| file.modified()) else {
            *read = None;
            return Vec::new();
        };
        match &*read {
            Some((known, tokens)) if *known == changed => tokens.clone(),
            _ => {
                let tokens = self.list().unwrap_or_default();
                *read = Some((changed, tokens.clone()));
                tokens
            }
        }
    }

    fn write(&self, tokens: &[Token]) -> Result<(), TokenError> {
        let text = serde_json::to_vec_pretty(tokens).unwrap_or_default();
        Ok(replace_private(&self.path, &text)?)
    }

    /// 256 bits that the kernel has drawn.
    fn draw(&self) -> Result<String, TokenError> {
        let mut bytes = [0; 32];
        let source = PathBuf::from("/dev/urandom");
        File::open(&source)
            .and_then(|mut file| file.read_exact(&mut bytes))
            .map_err(|error| TokenError::File { path: source, source: error })?;
        Ok(format!("cvk_{}", blake3::Hash::from_bytes(bytes).to_hex()))
    }
}

fn made(name: &str, role: Role, secret: &str) -> Token {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Token { name: name.to_owned(), role, made: now.as_secs(), hash: hash_of(secret).to_hex().to_string() }
}

fn hash_of(secret: &str) -> blake3::Hash {
    blake3::hash(secret.as_bytes())
}

/// The comparison of two hashes takes the same time wherever they differ.
fn is_hash(token: &Token, hash: &blake3::Hash) -> bool {
    blake3::Hash::from_hex(&token.hash).is_ok_and(|known| known == *hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_is_kept_by_its_hash_alone_and_is_refused_once_it_is_revoked() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::for_reading(folder.path());
        let (tokens, own) = Tokens::of(&state).with_own("link", Role::Approve).unwrap();
        let secret = tokens.add("laptop", Role::View).unwrap();
        let file = folder.path().join("tokens.json");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains(&secret) && !text.contains(&own), "{text}");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let known = tokens.find(&secret).map(|token| (token.name, token.role));
        assert_eq!(known, Some(("laptop".to_owned(), Role::View)));
        assert_eq!(tokens.find(&own).map(|token| token.role), Some(Role::Approve));
        assert!(matches!(tokens.add("laptop", Role::View), Err(TokenError::Known(_))));
        let (laptop, link) = (tokens.find(&secret).unwrap(), tokens.find(&own).unwrap());
        assert!(tokens.has(&laptop) && tokens.has(&link));
        Tokens::of(&state).revoke("laptop").unwrap();
        assert_eq!(tokens.find(&secret), None);
        assert!(!tokens.has(&laptop) && tokens.has(&link));
        assert!(matches!(tokens.revoke("laptop"), Err(TokenError::Unknown(_))));
        assert_eq!(tokens.find(&format!("{own}x")), None);
    }

    #[test]
    fn each_role_may_what_those_before_it_may() {
        assert!(Role::View < Role::Operate && Role::Operate < Role::Approve);
    }
}
