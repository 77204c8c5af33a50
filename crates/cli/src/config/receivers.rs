//! Receivers elsewhere: of traces, metrics and logs (`[telemetry]`) and of notices (`[notify.webhooks.*]`), as they are written.
//!
//! References to variables are looked up where something is sent. A project's file names receivers for the project's own runs, because
//! whichever process runs delivers for all runs of a state folder.

use super::{Entry, Origin, Scalar};
use convoke_telemetry::notices::Topic;
use convoke_telemetry::otlp::Signal;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Receivers of what happens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Receivers {
    /// Of traces, metrics and logs.
    pub telemetry: Option<Telemetry>,
    /// Of notices.
    pub webhooks: Vec<WebhookSettings>,
    /// Silence of so long is told.
    pub stall: Duration,
}

/// Receivers of traces, metrics and logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Telemetry {
    /// Whose it is, where that is known.
    pub preset: Option<Preset>,
    /// Where it is.
    pub endpoint: Option<String>,
    /// What it wants to see.
    pub headers: Vec<(String, String)>,
    /// What is sent there.
    pub signals: Vec<Signal>,
    /// Receivers of single signals, which get nothing else.
    pub apart: Vec<Apart>,
    /// Whether prompts, answers, arguments and results are sent.
    pub contents: bool,
    /// What the traces are filed under.
    pub service_name: String,
    /// What else all spans say of this program.
    pub attributes: Vec<(String, String)>,
    /// The folder of the project whose file says this: only runs that were started there or below are told of.
    pub below: Option<PathBuf>,
}

/// A receiver of one signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Apart {
    /// What it gets.
    pub signal: Signal,
    /// Where it is.
    pub endpoint: String,
    /// What it wants to see: headers of another receiver may be secret.
    pub headers: Vec<(String, String)>,
}

/// A well-known receiver. Both take traces and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// Langfuse.
    Langfuse,
    /// Arize Phoenix.
    Phoenix,
}

impl Preset {
    /// The word for it in a file.
    pub const fn word(self) -> &'static str {
        match self {
            Preset::Langfuse => "langfuse",
            Preset::Phoenix => "phoenix",
        }
    }
}

/// A receiver of notices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSettings {
    /// Its name in the file.
    pub name: String,
    /// Where it is.
    pub url: String,
    /// What signs.
    pub secret: Option<String>,
    /// What it wants to see.
    pub headers: Vec<(String, String)>,
    /// What it is told.
    pub topics: Topics,
    /// As for telemetry.
    pub below: Option<PathBuf>,
}

/// What is told, and of which workflows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topics {
    /// What; `None` where nothing is said about it.
    pub on: Option<Vec<Topic>>,
    /// Of these workflows; of all where none is named.
    pub workflows: Vec<String>,
}

impl Topics {
    /// Whether a workflow is told of.
    pub fn names(&self, workflow: &str) -> bool {
        self.workflows.is_empty() || self.workflows.iter().any(|name| name == workflow)
    }
}

/// The topics that words name; other words were refused before.
pub fn topics(words: &[String]) -> Vec<Topic> {
    words.iter().filter_map(|word| Topic::from_word(word)).collect()
}

impl Receivers {
    /// What the entries of a configuration say.
    pub fn of(entries: &[Entry], user_file: Option<&Path>) -> Receivers {
        let table = |prefix: String| Table { entries, prefix, user_file };
        let names: BTreeSet<&str> = entries.iter().filter_map(|entry| webhook_name(&entry.key)).collect();
        let webhooks =
            names.into_iter().filter_map(|name| webhook(name, &table(format!("notify.webhooks.{name}."))));
        let minutes = table("notify.".to_owned()).number("stall_minutes").unwrap_or(15);
        Receivers {
            telemetry: telemetry(&table("telemetry.".to_owned())),
            webhooks: webhooks.collect(),
            stall: Duration::from_secs(minutes.saturating_mul(60)),
        }
    }
}

fn telemetry(table: &Table<'_>) -> Option<Telemetry> {
    let preset = match table.text("preset").as_deref() {
        Some("langfuse") => Some(Preset::Langfuse),
        Some("phoenix") => Some(Preset::Phoenix),
        _ => None,
    };
    let endpoint = table.text("endpoint").filter(|endpoint| !endpoint.is_empty());
    let apart: Vec<_> =
        [Signal::Metrics, Signal::Logs].into_iter().filter_map(|of| apart(of, table)).collect();
    let has_one = preset.is_some() || endpoint.is_some();
    let stated = table.list("signals");
    let words = stated.unwrap_or_else(|| vec![Signal::Traces.word().to_owned()]);
    let is_here = |signal: &Signal| has_one && apart.iter().all(|apart| apart.signal != *signal);
    let signals = words.iter().filter_map(|word| Signal::from_word(word)).filter(is_here).collect();
    (has_one || !apart.is_empty()).then(|| Telemetry {
        preset,
        endpoint,
        headers: table.texts("headers."),
        signals,
        apart,
        contents: table.switch("contents"),
        service_name: table.text("service_name").unwrap_or_else(|| "convoke".to_owned()),
        attributes: table.texts("attributes."),
        below: table.below(),
    })
}

fn apart(signal: Signal, table: &Table<'_>) -> Option<Apart> {
    let endpoint = table.text(&format!("{}.endpoint", signal.word())).filter(|text| !text.is_empty())?;
    Some(Apart { signal, endpoint, headers: table.texts(&format!("{}.headers.", signal.word())) })
}

fn webhook(name: &str, table: &Table<'_>) -> Option<WebhookSettings> {
    Some(WebhookSettings {
        name: name.to_owned(),
        url: table.text("url").filter(|url| !url.is_empty())?,
        secret: table.text("secret"),
        headers: table.texts("headers."),
        topics: Topics {
            on: table.list("on").as_deref().map(topics),
            workflows: table.list("workflows").unwrap_or_default(),
        },
        below: table.below(),
    })
}

/// The name in `notify.webhooks.NAME.key`; it may hold dots.
fn webhook_name(key: &str) -> Option<&str> {
    let below = key.strip_prefix("notify.webhooks.")?;
    let with_header = below.rsplit_once(".headers.").map(|(name, _)| name);
    with_header.or_else(|| below.rsplit_once('.').map(|(name, _)| name))
}

/// The values of one table.
struct Table<'a> {
    entries: &'a [Entry],
    prefix: String,
    user_file: Option<&'a Path>,
}

impl<'a> Table<'a> {
    fn own(&self) -> impl Iterator<Item = (&'a str, &'a Entry)> {
        self.entries.iter().filter_map(|entry| Some((entry.key.strip_prefix(self.prefix.as_str())?, entry)))
    }

    fn value(&self, name: &str) -> Option<&'a Scalar> {
        self.own().find(|(key, _)| *key == name).map(|(_, entry)| &entry.value)
    }

    fn text(&self, name: &str) -> Option<String> {
        match self.value(name)? {
            Scalar::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    fn list(&self, name: &str) -> Option<Vec<String>> {
        match self.value(name)? {
            Scalar::List(texts) => Some(texts.clone()),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Scalar::Number(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    fn switch(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Scalar::Switch(true)))
    }

    fn texts(&self, below: &str) -> Vec<(String, String)> {
        let texts = self.own().filter_map(|(key, entry)| match &entry.value {
            Scalar::Text(text) => Some((key.strip_prefix(below)?.to_owned(), text.clone())),
            _ => None,
        });
        texts.collect()
    }

    /// The project whose file says something of it.
    fn below(&self) -> Option<PathBuf> {
        self.own().find_map(|(_, entry)| match &entry.origin {
            Origin::File { path, .. } if Some(path.as_path()) != self.user_file => {
                let whole = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                whole.parent().map(Path::to_owned)
            }
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(file: &str, text: &str) -> Receivers {
        let layer = super::super::Layer::from_toml(text, Some(PathBuf::from(file)));
        let layer = layer.unwrap_or_else(|error| panic!("{error}"));
        assert!(layer.faults.is_empty(), "{:?}", layer.faults);
        Receivers::of(&layer.entries, Some(Path::new("/home/a/config.toml")))
    }

    #[test]
    fn a_project_tells_of_its_own_runs_only() {
        let text = "telemetry.endpoint = 'http://h'\n[notify.webhooks.\"a.b\"]\nurl = '${U}'\non = ['end']\nheaders.X = 'y'";
        let user = of("/home/a/config.toml", text);
        assert_eq!(user.telemetry.as_ref().unwrap().below, None);
        let hook = &user.webhooks[0];
        assert_eq!((hook.name.as_str(), hook.below.clone()), ("a.b", None));
        assert_eq!((hook.topics.on.clone(), hook.headers.len()), (Some(vec![Topic::End]), 1));
        let project = of("/work/p/convoke.toml", text);
        assert_eq!(project.telemetry.unwrap().below, Some("/work/p".into()));
        assert_eq!(project.webhooks[0].below, Some("/work/p".into()));
    }

    #[test]
    fn traces_alone_are_sent_unless_more_is_asked_for() {
        let signals = |text: &str| {
            let telemetry = of("/home/a/config.toml", text).telemetry.unwrap();
            let apart: Vec<_> = telemetry.apart.iter().map(|apart| apart.signal).collect();
            (telemetry.signals, apart)
        };
        assert_eq!(signals("telemetry.endpoint = 'http://h'"), (vec![Signal::Traces], vec![]));
        let all = "telemetry.endpoint = 'http://h'\ntelemetry.signals = ['traces', 'metrics', 'logs']";
        assert_eq!(signals(all), (Signal::ALL.to_vec(), vec![]));
        let elsewhere = format!("{all}\ntelemetry.metrics.endpoint = 'http://m'");
        assert_eq!(signals(&elsewhere), (vec![Signal::Traces, Signal::Logs], vec![Signal::Metrics]));
        let only = "telemetry.logs.endpoint = 'http://l'\ntelemetry.signals = ['traces']";
        assert_eq!(signals(only), (vec![], vec![Signal::Logs]), "traces have no receiver");
    }

    #[test]
    fn headers_of_one_receiver_are_not_sent_to_another() {
        let text = "telemetry.endpoint = 'http://h'\ntelemetry.headers.A = 'secret'\n\
                    telemetry.metrics.endpoint = 'http://m'\ntelemetry.metrics.headers.B = 'other'";
        let telemetry = of("/home/a/config.toml", text).telemetry.unwrap();
        assert_eq!(telemetry.headers, [("A".to_owned(), "secret".to_owned())]);
        assert_eq!(telemetry.apart[0].headers, [("B".to_owned(), "other".to_owned())]);
    }

    #[test]
    fn nothing_is_sent_unless_a_receiver_is_named() {
        let none = of("/home/a/config.toml", "telemetry.contents = true\nnotify.webhooks.x.on = ['end']");
        assert_eq!((none.telemetry, none.webhooks), (None, vec![]));
    }
}
