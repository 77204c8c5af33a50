//! Which variables a command sees.
//!
//! It inherits what Convoke was given, without credentials: a command that a model wrote or influenced must be handed
//! a key by name (`env:`) to get it. The inherited list comes from outside; nothing here reads the environment.

use convoke_model::ScriptCall;
use std::ffi::{OsStr, OsString};

/// Names that end so hold credentials by custom.
const SECRET_ENDINGS: [&str; 3] = ["_API_KEY", "_TOKEN", "_SECRET"];

/// The variables that every command inherits.
#[derive(Clone, Default)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// What is left of `inherited` without the variables in `secrets` and those named like credentials.
    pub fn new(inherited: impl IntoIterator<Item = (OsString, OsString)>, secrets: &[String]) -> Environment {
        let is_open = |name: &OsStr| !is_secret(name, secrets);
        Environment { variables: inherited.into_iter().filter(|(name, _)| is_open(name)).collect() }
    }

    /// All of them, for whoever else starts programs.
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

/// Values may be secrets that nobody recognised, so none is shown.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.variables.iter().map(|(name, _)| name)).finish()
    }
}

fn is_secret(name: &OsStr, secrets: &[String]) -> bool {
    let name = name.to_string_lossy();
    let upper = name.to_ascii_uppercase();
    secrets.iter().any(|secret| *secret == name) || SECRET_ENDINGS.iter().any(|end| upper.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        };
        let names: Vec<_> = environment.for_call(&call).map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names, ["PATH", "TOKENS", "PYTHONUTF8", "GITHUB_TOKEN"]);
        assert_eq!(format!("{environment:?}"), "[\"PATH\", \"TOKENS\"]");
    }
}
