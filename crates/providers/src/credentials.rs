//! The headers of a provider's requests, its key among them.
//!
//! Keys come from the settings (references), from a file that only its owner may read, or from the preset's variable.
//! They leave this module as secrets and as headers that are marked as such, and no message holds one.

use crate::preset::{KeyHeader, Preset};
use crate::reference::{Lookup, resolve};
use convoke_model::{Class, Failure, ProviderSettings};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use std::path::Path;

/// A key and the headers that carry it.
pub struct Credentials {
    /// The key, if there is one.
    pub key: Option<SecretString>,
    /// All headers.
    pub headers: HeaderMap,
}

impl Credentials {
    /// Those of some settings. `elsewhere` says that the address is not the preset's own, where no key may be needed.
    pub fn new(
        settings: &ProviderSettings,
        preset: &Preset,
        elsewhere: bool,
        lookup: &Lookup,
    ) -> Result<Credentials, Failure> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, text) in preset.headers {
            let name = HeaderName::try_from(*name).expect("the table holds header names");
            headers.insert(name, HeaderValue::from_static(text));
        }
        add_given(&mut headers, settings, lookup)?;
        let (header, before) = match preset.key_header {
            KeyHeader::Bearer => (AUTHORIZATION, "Bearer "),
            KeyHeader::Named(name) => (HeaderName::from_static(name), ""),
        };
        if headers.contains_key(AUTHORIZATION) || headers.contains_key(&header) {
            return Ok(Credentials { key: None, headers });
        }
        let key = key(settings, preset, elsewhere, lookup)?.filter(|key| !key.expose_secret().is_empty());
        if let Some(key) = &key {
            let text = format!("{before}{}", key.expose_secret());
            headers.insert(header, value(&settings.name, "api_key", &text)?);
        }
        Ok(Credentials { key, headers })
    }
}

fn add_given(headers: &mut HeaderMap, settings: &ProviderSettings, lookup: &Lookup) -> Result<(), Failure> {
    let provider = &settings.name;
    for (name, text) in &settings.headers {
        let resolved = resolve(text, lookup)
            .map_err(|variable| unset(provider, &format!("header `{name}`"), &variable))?;
        let header = HeaderName::try_from(name.as_str()).map_err(|_| unusable(provider, name))?;
        headers.insert(header, value(provider, name, resolved.expose_secret())?);
    }
    Ok(())
}

fn key(
    settings: &ProviderSettings,
    preset: &Preset,
    elsewhere: bool,
    lookup: &Lookup,
) -> Result<Option<SecretString>, Failure> {
    let given = settings.api_key.as_deref().filter(|key| !key.is_empty());
    if let (None, Some(file)) = (given, &settings.api_key_file) {
        return from_file(&settings.name, Path::new(file)).map(Some);
    }
    match resolve(given.unwrap_or(preset.key), lookup) {
        Ok(key) => Ok(Some(key)),
        // Services on one's own machine need no key.
        Err(_) if given.is_none() && (elsewhere || !preset.needs_key) => Ok(None),
        Err(variable) => Err(unset(&settings.name, "key", &variable)),
    }
}

/// The first line of a file that other users may not read.
fn from_file(provider: &str, path: &Path) -> Result<SecretString, Failure> {
    let bad = |why: String| {
        let message = format!("provider {provider}: api_key_file `{}` {why}", path.display());
        Failure::new(Class::Permission, message).reason("no_credentials")
    };
    let meta = std::fs::metadata(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
    if is_open_to_others(&meta) {
        let hint = format!("`chmod 600 {}` keeps it to yourself", path.display());
        return Err(bad("can be read by others".into()).hint(hint));
    }
    let text = std::fs::read_to_string(path).map_err(|error| bad(format!("cannot be read: {error}")))?;
    match text.lines().next().map(str::trim).filter(|line| !line.is_empty()) {
        Some(line) => Ok(line.to_owned().into()),
        None => Err(bad("is empty".into())),
    }
}

#[cfg(unix)]
fn is_open_to_others(meta: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    meta.mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn is_open_to_others(_meta: &std::fs::Metadata) -> bool {
    false
}

/// The failure of a variable that is not set.
pub fn unset(provider: &str, what: &str, variable: &str) -> Failure {
    let message = format!("provider {provider} has no {what}: variable `{variable}` is not set");
    Failure::new(Class::Permission, message)
        .reason("no_credentials")
        .hint(format!("set `{variable}` in the environment"))
}

fn value(provider: &str, name: &str, text: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(text.trim()).map_err(|_| unusable(provider, name))?;
    value.set_sensitive(true);
    Ok(value)
}

/// Says nothing of the value, which may be a secret.
fn unusable(provider: &str, name: &str) -> Failure {
    Failure::new(Class::Fatal, format!("provider {provider}: `{name}` cannot be sent as a header"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::find;
    use std::sync::Arc;

    fn made(settings: &ProviderSettings) -> Result<Credentials, Failure> {
        let lookup: Lookup = Arc::new(|name| (name == "ANTHROPIC_API_KEY").then(|| "from-env".to_owned()));
        Credentials::new(settings, find(&settings.name).unwrap(), false, &lookup)
    }

    fn settings(name: &str) -> ProviderSettings {
        ProviderSettings { name: name.into(), ..ProviderSettings::default() }
    }

    #[test]
    fn a_key_is_sent_as_the_service_wants_it() {
        let made = made(&settings("anthropic")).unwrap();
        assert_eq!(made.headers["x-api-key"], "from-env");
        assert!(made.headers["x-api-key"].is_sensitive() && !made.headers.contains_key(AUTHORIZATION));
    }

    #[test]
    fn a_header_that_carries_the_key_is_enough() {
        let mut settings = settings("openai");
        settings.headers = vec![("Authorization".into(), "Bearer own".into())];
        assert_eq!(made(&settings).unwrap().headers[AUTHORIZATION], "Bearer own");
    }

    #[cfg(unix)]
    #[test]
    fn a_key_file_must_be_ones_own() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "sk-in-file\n").unwrap();
        let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let settings =
            ProviderSettings { api_key_file: Some(path.display().to_string()), ..settings("anthropic") };
        mode(0o644);
        let Err(failure) = made(&settings) else { panic!("a key that everybody can read") };
        assert_eq!(failure.class, Class::Permission);
        assert!(failure.message.ends_with("can be read by others"), "{failure}");
        assert!(!format!("{failure:?}").contains("sk-in-file"));
        mode(0o600);
        assert_eq!(made(&settings).unwrap().headers["x-api-key"], "sk-in-file");
        std::fs::write(&path, "\n").unwrap();
        assert!(made(&settings).is_err());
    }
}
