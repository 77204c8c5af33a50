//! What the configuration says of secrets (`[secrets.NAME]`): from where each comes, over what files say.

use super::layer::{Entry, LayerError, Scalar};
use convoke_model::{SecretSource, is_secret_name};
use std::collections::BTreeMap;

const TABLE: &str = "secrets.";

/// The keys of which a secret has one.
const SOURCES: [&str; 4] = ["env", "file", "command", "vault"];

/// The sources by name, and what is wrong with them.
pub fn read<'e>(
    entries: impl Iterator<Item = &'e Entry>,
) -> (BTreeMap<String, SecretSource>, Vec<LayerError>) {
    let mut tables: BTreeMap<&str, BTreeMap<&str, &Entry>> = BTreeMap::new();
    for entry in entries {
        if let Some((name, key)) = entry.key.strip_prefix(TABLE).and_then(|below| below.rsplit_once('.')) {
            tables.entry(name).or_default().insert(key, entry);
        }
    }
    let (mut sources, mut faults) = (BTreeMap::new(), Vec::new());
    for (name, keys) in tables {
        match source(name, &keys) {
            Ok(source) => drop(sources.insert(name.to_owned(), source)),
            Err(fault) => faults.push(fault),
        }
    }
    (sources, faults)
}

fn source(name: &str, keys: &BTreeMap<&str, &Entry>) -> Result<SecretSource, LayerError> {
    let first = keys.values().next().expect("a table has a key");
    let fault = |entry: &Entry, message: String| LayerError::Value {
        key: entry.key.clone(),
        origin: entry.origin.clone(),
        message,
    };
    if !is_secret_name(name) {
        return Err(fault(first, format!("a secret cannot be called `{name}`: letters, digits and `_`")));
    }
    let written: Vec<&str> = SOURCES.into_iter().filter(|key| keys.contains_key(key)).collect();
    let (key, entry) = match written[..] {
        [key] => (key, keys[key]),
        [] => return Err(fault(first, format!("one of {} is needed too", SOURCES.join(", ")))),
        [first, second, ..] => {
            return Err(fault(keys[second], format!("`{first}` is there too: a secret has one source")));
        }
    };
    match (key, &entry.value) {
        (_, Scalar::Text(text)) if text.is_empty() => Err(fault(entry, "it is empty".to_owned())),
        ("env", Scalar::Text(text)) => Ok(SecretSource::Env(text.clone())),
        ("file", Scalar::Text(text)) => Ok(SecretSource::File(text.clone())),
        ("vault", Scalar::Text(text)) => Ok(SecretSource::Vault(text.clone())),
        (_, Scalar::List(argv)) if argv.first().is_some_and(|program| !program.is_empty()) => {
            let inherit = keys.get("inherit").map(|entry| &entry.value);
            let inherit = match inherit {
                Some(Scalar::List(names)) => names.clone(),
                _ => Vec::new(),
            };
            Ok(SecretSource::Command { argv: argv.clone(), inherit })
        }
        _ => Err(fault(entry, "it is empty".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::layer::Layer;
    use super::*;

    fn of(text: &str) -> (BTreeMap<String, SecretSource>, Vec<String>) {
        let layer = Layer::from_toml(text, Some("c.toml".into())).unwrap();
        let (sources, faults) = read(layer.entries.iter());
        (sources, faults.iter().map(LayerError::to_string).collect())
    }

    #[test]
    fn each_secret_has_one_source() {
        let (sources, faults) =
            of("[secrets]\nA.env = 'X'\nB.vault = 'b'\nC.command = ['pass', 'c']\nC.inherit = ['T']\n");
        assert!(faults.is_empty());
        let command =
            SecretSource::Command { argv: vec!["pass".into(), "c".into()], inherit: vec!["T".into()] };
        let wanted =
            [("A", SecretSource::Env("X".into())), ("B", SecretSource::Vault("b".into())), ("C", command)];
        assert_eq!(sources, wanted.map(|(name, source)| (name.to_owned(), source)).into());
        let (sources, faults) = of(
            "[secrets]\nA.env = 'X'\nA.file = 'f'\nB.inherit = ['T']\nC.command = []\nD-E.env = 'X'\nF.env = ''\n",
        );
        assert!(sources.is_empty());
        assert_eq!(faults.len(), 5, "{faults:?}");
    }
}
