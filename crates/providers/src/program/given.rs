//! What a program is started with: its settings, with the references in them followed.
//!
//! This happens right before the start, so that no value stands in a plan. What is asked of the program is filled in
//! afterwards (`headless::arguments`): a prompt that contains `${HOME}` is text.

use crate::credentials;
use crate::reference::{Lookup, names, resolve};
use convoke_model::reference::{self, Unresolved};
use convoke_model::secret::is_named_like_one;
use convoke_model::{Class, Failure, Program};
use secrecy::{ExposeSecret, SecretString};

/// Arguments and variables of one start.
pub struct Given {
    /// The arguments.
    pub args: Vec<String>,
    env: Vec<(String, SecretString)>,
    /// What must not come back in messages.
    secrets: Vec<SecretString>,
}

impl Given {
    /// What the settings of a program give it.
    pub fn new(provider: &str, program: &Program, lookup: &Lookup) -> Result<Given, Failure> {
        let variable = |(name, text): &(String, String)| {
            let unset =
                |variable: String| credentials::unset(provider, &format!("value for `{name}`"), &variable);
            Ok((name.clone(), resolve(text, lookup).map_err(unset)?))
        };
        let argument = |text: &String| {
            reference::expand(text, &**lookup).map_err(|unresolved| without_value(provider, &unresolved))
        };
        let env: Vec<_> = program.env.iter().map(variable).collect::<Result<_, Failure>>()?;
        let args = program.args.iter().map(argument).collect::<Result<_, Failure>>()?;
        let secrets = in_env(program, &env).chain(in_args(program, lookup)).collect();
        Ok(Given { args, env, secrets })
    }

    /// The same with other arguments.
    pub fn with_args(self, args: Vec<String>) -> Given {
        Given { args, ..self }
    }

    /// The variables.
    pub fn env(&self) -> impl Iterator<Item = (&str, &str)> {
        self.env.iter().map(|(name, value)| (name.as_str(), value.expose_secret()))
    }

    /// What must not come back in messages.
    pub fn into_secrets(self) -> Vec<SecretString> {
        self.secrets
    }
}

/// The values that came from references; what stands in a file is no secret.
fn in_env(program: &Program, env: &[(String, SecretString)]) -> impl Iterator<Item = SecretString> {
    let referred = program.env.iter().map(|(_, text)| !names(text).is_empty());
    env.iter().zip(referred).filter(|(_, referred)| *referred).map(|((_, value), _)| value.clone())
}

/// Arguments are mostly paths and options, so only variables that are named like keys count.
fn in_args(program: &Program, lookup: &Lookup) -> impl Iterator<Item = SecretString> {
    let names = program.args.iter().flat_map(|arg| names(arg)).filter(|name| is_named_like_one(name));
    names.filter_map(|name| lookup(&name)).map(SecretString::from)
}

fn without_value(provider: &str, unresolved: &Unresolved) -> Failure {
    match unresolved {
        Unresolved::Unset(variable) => credentials::unset(provider, "value for `args`", variable),
        Unresolved::TooDeep(_) => {
            Failure::new(Class::Fatal, format!("provider {provider}: `args`: {unresolved}"))
                .reason("endless_reference")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn given(args: &[&str]) -> Result<Given, Failure> {
        let lookup: Lookup = Arc::new(|name| match name {
            "SHOP_TOKEN" => Some("tok-12345".to_owned()),
            "HOME" => Some("/home/me".to_owned()),
            _ => None,
        });
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        Given::new("cli", &Program { args, ..Program::default() }, &lookup)
    }

    #[test]
    fn references_in_arguments_become_values_and_only_keys_are_secrets() {
        let given = given(&["--dir=${HOME}", "--token=${SHOP_TOKEN}", "{prompt}", "${NONE:-x}"]).unwrap();
        assert_eq!(given.args, ["--dir=/home/me", "--token=tok-12345", "{prompt}", "x"]);
        let secrets = given.into_secrets();
        assert_eq!(secrets.iter().map(|secret| secret.expose_secret()).collect::<Vec<_>>(), ["tok-12345"]);
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        let failure = given(&["${NOT_SET}"]).err().unwrap();
        assert_eq!(failure.message, "provider cli has no value for `args`: variable `NOT_SET` is not set");
    }
}
