//! What a script step's `env` refers to becomes a value here, right before its command starts.
//!
//! The plan holds references, so that no value of this process's environment is stored; running commands is left to
//! the next model.

use crate::env;
use crate::secrets::Secrets;
use convoke_agent::{Commands, ScriptResult, Sink};
use convoke_model::reference::{Lookup, Unresolved, expand_with};
use convoke_model::{Class, Failure, ScriptCall};
use futures::future::BoxFuture;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Runs commands as another does, with values instead of references.
pub struct Resolving {
    inner: Arc<dyn Commands>,
    secrets: Secrets,
}

impl Resolving {
    /// Follows references to these secrets and to variables, and has commands run by `inner`.
    pub fn new(inner: Arc<dyn Commands>, secrets: Secrets) -> Resolving {
        Resolving { inner, secrets }
    }

    fn resolved(&self, call: &ScriptCall) -> Result<ScriptCall, Failure> {
        self.with(call, &env::get)
    }

    fn with(&self, call: &ScriptCall, variable: Lookup<'_>) -> Result<ScriptCall, Failure> {
        let secret = |name: &str| self.secrets.get(name);
        let value = |(name, text): &(String, String)| {
            let refused = |unresolved| refusal(call, name, &unresolved);
            Ok((name.clone(), expand_with(text, &secret, variable).map_err(refused)?))
        };
        let env = call.env.iter().map(value).collect::<Result<_, Failure>>()?;
        Ok(ScriptCall { env, ..call.clone() })
    }
}

impl Commands for Resolving {
    fn run<'a>(
        &'a self,
        call: &'a ScriptCall,
        cancel: CancellationToken,
        sink: &'a dyn Sink,
    ) -> BoxFuture<'a, Result<ScriptResult, Failure>> {
        // Most commands have no variables of their own, and standard input may be long.
        if call.env.is_empty() {
            return self.inner.run(call, cancel, sink);
        }
        Box::pin(async move { self.inner.run(&self.resolved(call)?, cancel, sink).await })
    }
}

/// Only a run that goes on elsewhere gets here: at a start, reading the file reports it.
fn refusal(call: &ScriptCall, name: &str, unresolved: &Unresolved) -> Failure {
    let message = format!("command `{}`: `{name}` of `env`: {unresolved}", call.command);
    let failure = Failure::new(Class::Fatal, message).reason("no_value");
    match unresolved {
        Unresolved::Unset(variable) => {
            failure.hint(format!("set it, or give a default: `${{{variable}:-…}}`"))
        }
        Unresolved::TooDeep(_) => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;

    impl Commands for Nobody {
        fn run<'a>(
            &'a self,
            call: &'a ScriptCall,
            _: CancellationToken,
            _: &'a dyn Sink,
        ) -> BoxFuture<'a, Result<ScriptResult, Failure>> {
            let told: Vec<_> = call.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let result = ScriptResult { stdout: told.join(" "), ..ScriptResult::default() };
            Box::pin(std::future::ready(Ok(result)))
        }
    }

    fn told(env: &[(&str, &str)]) -> Result<ScriptCall, Failure> {
        let lookup = |name: &str| match name {
            "SET" => Some("value".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let call = ScriptCall {
            command: "c".into(),
            args: vec!["${SET}".into()],
            env: env.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
            working_dir: None,
            stdin: Some("${SET}".into()),
            schema: None,
            key: None,
            survival: None,
            idle: None,
        };
        Resolving::new(Arc::new(Nobody), Secrets::default()).with(&call, &lookup)
    }

    #[test]
    fn references_in_env_become_values_and_nothing_else_does() {
        let call =
            told(&[("A", "<${SET}>"), ("B", "${EMPTY}"), ("C", "${NO:-d}"), ("D", "${#list[@]}")]).unwrap();
        let values: Vec<_> = call.env.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["<value>", "", "d", "${#list[@]}"]);
        assert_eq!((call.args[0].as_str(), call.stdin.as_deref()), ("${SET}", Some("${SET}")));
    }

    #[test]
    fn a_variable_that_is_gone_is_named_with_what_to_do() {
        let failure = told(&[("A", "${NO}")]).unwrap_err();
        assert_eq!(failure.message, "command `c`: `A` of `env`: environment variable `NO` is not set");
        assert_eq!(failure.hint.as_deref(), Some("set it, or give a default: `${NO:-…}`"));
    }
}
