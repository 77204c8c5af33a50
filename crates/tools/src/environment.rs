//! Which variables a command sees, and what the person's configuration confines it to.
//!
//! It inherits what Convoke was given, without credentials: a command that a model wrote or influenced must be handed
//! a key by name (`env:`) to get it. The inherited list comes from outside; nothing here reads the environment.

use convoke_model::ScriptCall;
use convoke_sandbox::Ground;
use std::ffi::{OsStr, OsString};

/// Names that end so hold credentials by custom, and so do the same words alone. The language states the first three; the
/// others are as plain. A mere `_KEY` is not here: it names caches, columns and files as often. Nor are names of files
/// (`GOOGLE_APPLICATION_CREDENTIALS`) and sockets (`SSH_AUTH_SOCK`), without which programs cannot work.
const SECRET_ENDINGS: [&str; 10] = [
    "_API_KEY",
    "_TOKEN",
    "_SECRET",
    "_APIKEY",
    "_ACCESS_KEY",
    "_SECRET_KEY",
    "_PRIVATE_KEY",
    "_PASSPHRASE",
    "_PASSWORD",
    "_PASSWD",
];

/// Names of well-known programs that hold credentials and end otherwise.
const SECRET_NAMES: [&str; 4] = ["PGPASSWORD", "MYSQL_PWD", "REDISCLI_AUTH", "SSHPASS"];

/// The variables that every command inherits.
#[derive(Clone, Default)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
    ground: Option<Ground>,
}

impl Environment {
    /// What is left of `inherited` without the variables in `secrets` and those named like credentials.
    pub fn new(inherited: impl IntoIterator<Item = (OsString, OsString)>, secrets: &[String]) -> Environment {
        let is_open = |name: &OsStr| !is_secret(name, secrets);
        let variables = inherited.into_iter().filter(|(name, _)| is_open(name)).collect();
        Environment { variables, ground: None }
    }

    /// The same on a ground, which every command is confined by.
    pub fn on(self, ground: Ground) -> Environment {
        Environment { ground: Some(ground), ..self }
    }

    /// What commands are confined by; nothing where no one has said.
    pub fn ground(&self) -> Option<&Ground> {
        self.ground.as_ref()
    }

    /// All of them, for other parts that start programs.
    pub fn into_variables(self) -> Vec<(OsString, OsString)> {
        self.variables
    }

    /// The variables of one command, later ones over earlier ones.
    pub(crate) fn for_call<'a>(
        &'a self,
        call: &'a ScriptCall,
    ) -> impl Iterator<Item = (&'a OsStr, &'a OsStr)> {
        let inherited = self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        let fixed = [(OsStr::new("PYTHONUTF8"), OsStr::new("1"))];
        let own = call.env.iter().map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
        inherited.chain(fixed).chain(own)
    }
}

/// Values may be unrecognised secrets, so none is shown.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.variables.iter().map(|(name, _)| name)).finish()
    }
}

fn is_secret(name: &OsStr, secrets: &[String]) -> bool {
    let name = name.to_string_lossy();
    let upper = name.to_ascii_uppercase();
    let ends_so = |end: &str| upper.ends_with(end) || upper == end[1..];
    secrets.iter().any(|secret| *secret == name)
        || SECRET_ENDINGS.iter().any(|end| ends_so(end))
        || SECRET_NAMES.contains(&upper.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_is_kept_back() {
        let kept_back = ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "PGPASSWORD", "DB_PASSWORD", "token"];
        let kept_back = kept_back.iter().chain(&["DEPLOY_PRIVATE_KEY", "Password", "MYSQL_PWD", "MY_APIKEY"]);
        assert!(kept_back.into_iter().all(|name| is_secret(OsStr::new(name), &[])));
        let handed_on =
            ["PWD", "OLDPWD", "CACHE_KEY", "AWS_ACCESS_KEY_ID", "SSH_AUTH_SOCK", "GIT_ASKPASS", "KEY"];
        let handed_on =
            handed_on.iter().chain(&["GOOGLE_APPLICATION_CREDENTIALS", "TOKENS", "PASSWORD_STORE_DIR"]);
        assert!(!handed_on.into_iter().any(|name| is_secret(OsStr::new(name), &[])));
    }

    #[test]
    fn credentials_are_inherited_only_by_name() {
        let inherited = ["PATH", "MOCK_KEY", "GITHUB_TOKEN", "x_api_key", "TOKENS", "MY_SECRET"];
        let inherited = inherited.map(|name| (name.into(), "v".into()));
        let environment = Environment::new(inherited, &["MOCK_KEY".into()]);
        let call = ScriptCall {
            command: "c".into(),
            args: vec![],
            env: vec![("GITHUB_TOKEN".into(), "given".into())],
            working_dir: None,
            stdin: None,
            schema: None,
            key: None,
            survival: None,
            idle: None,
        };
        let names: Vec<_> = environment.for_call(&call).map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names, ["PATH", "TOKENS", "PYTHONUTF8", "GITHUB_TOKEN"]);
        assert_eq!(format!("{environment:?}"), "[\"PATH\", \"TOKENS\"]");
    }
}
