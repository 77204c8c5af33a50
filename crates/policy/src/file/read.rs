//! A policy file to a policy: every mistake at once, each at its place, with the name that was probably meant.

use super::finding::{Finding, Findings};
use super::keys::{FILE, Form, Key};
use super::presets;
use super::tree::{Node, Value, build};
use crate::authority::{Authorities, Named, NoAuthorities};
use crate::judging::parse_host;
use crate::policy::{PathPattern, Policy};
use crate::profile;
use crate::verdict::OnViolation;
use std::ops::Range;
use std::time::Duration;

/// Bytes of a policy file.
const LONGEST: usize = 1 << 20;

impl Policy {
    /// A policy that comes with the program: `read-only`, `develop`, `network`.
    pub fn preset(name: &str) -> Option<Policy> {
        presets::text(name).map(|text| Policy::parse(text).expect("presets are tested"))
    }

    /// Reads a policy file that names no other authority.
    pub fn parse(text: &str) -> Result<Policy, Vec<Finding>> {
        Policy::parse_with(text, &NoAuthorities)
    }

    /// Reads a policy file; the authority that it names (`cedar`) is read by `authorities`.
    pub fn parse_with(text: &str, authorities: &dyn Authorities) -> Result<Policy, Vec<Finding>> {
        let mut findings = Findings::new(text);
        let policy = if text.len() > LONGEST {
            findings.add("policy::too_large", &(0..0), "a policy has at most 1 MiB", None);
            None
        } else {
            build(text, &mut findings).and_then(|node| file(&node, &mut findings, authorities))
        };
        match (findings.into_error(), policy) {
            (Some(found), _) => Err(found),
            (None, Some(policy)) => Ok(policy),
            (None, None) => Err(empty(text)),
        }
    }
}

fn empty(text: &str) -> Vec<Finding> {
    let mut findings = Findings::new(text);
    let help = "begin with `extends: develop`".to_owned();
    findings.add("policy::empty", &(0..0), "the policy is empty", Some(help));
    findings.into_error().unwrap_or_default()
}

fn file(node: &Node, findings: &mut Findings<'_>, authorities: &dyn Authorities) -> Option<Policy> {
    if node.is_null() {
        return None;
    }
    let Value::Map(pairs) = &node.value else {
        let message = format!("a policy is a mapping, found {}", node.describe());
        findings.add("policy::wrong_type", &node.range, message, None);
        return None;
    };
    check_form(node, Form::Keys(FILE), "", findings);
    let find = |name: &str| pairs.iter().find(|(key, ..)| key == name).map(|(.., value)| value);
    let base = find("extends").and_then(word).filter(|name| presets::NAMES.contains(&name.as_str()));
    let mut policy = match base.as_deref().and_then(Policy::preset) {
        Some(preset) => preset,
        None => Policy::nothing("own"),
    };
    let mut reader = Reader { policy: &mut policy, findings, authorities, has_base: base.is_some() };
    for (key, _, value) in pairs {
        reader.key(key, value);
    }
    defaults(&mut policy, base.is_some());
    Some(policy)
}

/// What holds where a file says nothing.
fn defaults(policy: &mut Policy, has_base: bool) {
    if policy.paths.read.is_empty() {
        policy.paths.read = vec![PathPattern::parse("**").expect("it is one")];
    }
    if policy.tools.allow.is_empty() && !has_base {
        policy.tools.allow = vec!["*".to_owned()];
    }
}

/// Checks a value against its form, and everything in it.
fn check_form(node: &Node, form: Form, at: &str, findings: &mut Findings<'_>) {
    let mut wrong = |expected: &str| {
        let message = format!("`{at}` expects {expected}, found {}", node.describe());
        findings.add("policy::wrong_type", &node.range, message, None);
    };
    match (form, &node.value) {
        (Form::Keys(keys), Value::Map(pairs)) => {
            for (name, range, value) in pairs {
                let below = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                match keys.iter().find(|key| key.name == name) {
                    Some(key) => check_form(value, key.form, &below, findings),
                    None => unknown_key(name, range, at, keys, findings),
                }
            }
        }
        (Form::Keys(_), _) => wrong("a mapping"),
        (Form::Texts, Value::List(items)) => {
            for item in items {
                check_form(item, Form::Text, at, findings);
            }
        }
        (Form::Texts, Value::Scalar(..)) if !node.is_null() => {}
        (Form::Texts, _) => wrong("a list of texts"),
        (Form::Pairs, Value::Map(pairs)) => {
            for (name, _, value) in pairs {
                check_form(value, Form::Text, &format!("{at}.{name}"), findings);
            }
        }
        (Form::Pairs, _) => wrong("a mapping of names to texts"),
        (_, Value::Scalar(..)) if node.is_null() => wrong("a value"),
        (Form::Text, Value::Scalar(..)) => {}
        (Form::Text, _) => wrong("a text"),
        (Form::Word(words), Value::Scalar(text, _)) if words.contains(&text.as_str()) => {}
        (Form::Word(words), Value::Scalar(text, _)) => {
            let message = format!("`{at}` is `{text}`, which it cannot be");
            let help = instead(text, words.iter().copied());
            findings.add("policy::unknown_value", &node.range, message, Some(help));
        }
        (Form::Word(_), _) => wrong("one word"),
        (Form::Number, Value::Scalar(text, _)) if text.parse::<u32>().is_ok_and(|number| number > 0) => {}
        (Form::Number, _) => wrong("a number above 0"),
        (Form::Duration, Value::Scalar(text, _)) if duration(text).is_some() => {}
        (Form::Duration, _) => wrong("a duration such as 90s or 5m"),
        (Form::Size, Value::Scalar(text, _)) if size(text).is_some() => {}
        (Form::Size, _) => wrong("a size such as 1MiB"),
    }
}

fn unknown_key(name: &str, range: &Range<usize>, at: &str, keys: &[Key], findings: &mut Findings<'_>) {
    let place = if at.is_empty() { "a policy".to_owned() } else { format!("`{at}`") };
    let help = instead(name, keys.iter().map(|key| key.name));
    findings.add("policy::unknown_key", range, format!("`{name}` is no key of {place}"), Some(help));
}

fn instead<'a>(written: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = convoke_model::nearest(written, known.clone()).map(|near| format!("did you mean `{near}`? "));
    format!("{}available: {}", near.unwrap_or_default(), known.collect::<Vec<_>>().join(", "))
}

struct Reader<'a, 'b> {
    policy: &'a mut Policy,
    findings: &'a mut Findings<'b>,
    authorities: &'a dyn Authorities,
    has_base: bool,
}

impl Reader<'_, '_> {
    fn key(&mut self, key: &str, value: &Node) {
        match key {
            "name" => self.policy.name = word(value).unwrap_or_default(),
            "binaries" => self.binaries(value),
            "paths" => self.paths(value),
            "network" => self.each(value, "hosts", Self::host),
            "tools" => self.tools(value),
            "environment" => self.environment(value),
            "limits" => self.limits(value),
            "cedar" => self.authority(value),
            "on_violation" => {
                if let Some(way) = word(value).and_then(|word| OnViolation::from_word(&word)) {
                    self.policy.on_violation = way;
                }
            }
            _ => {}
        }
    }

    fn authority(&mut self, value: &Node) {
        let Some(name) = word(value) else { return };
        match self.authorities.read(&name) {
            Ok(authority) => self.policy.authority = Some(Named { name, authority }),
            Err(why) => self.findings.add(
                "policy::cedar",
                &value.range,
                format!("`cedar: {name}` cannot be used: {why}"),
                Some("a policy whose Cedar file is not asked would allow what that file denies, so it is refused".to_owned()),
            ),
        }
    }

    /// Gives every text of a list beneath a mapping to a function.
    fn each(&mut self, node: &Node, key: &str, take: fn(&mut Self, String, &Range<usize>)) {
        for (text, range) in below(node, key).map(texts).unwrap_or_default() {
            take(self, text, &range);
        }
    }

    fn binaries(&mut self, node: &Node) {
        if let Some(only) = below(node, "only") {
            self.policy.binaries.allow.clear();
            for (text, range) in texts(only) {
                self.allow(text, &range);
            }
        }
        self.each(node, "allow", Self::allow);
        self.each(node, "deny", |reader, text, range| {
            if reader.is_program(&text, range) {
                reader.policy.binaries.deny.push(text);
            }
        });
        self.each(node, "trust", |reader, text, range| {
            if reader.is_program(&text, range) {
                reader.policy.binaries.trust.push(text);
            }
        });
    }

    fn allow(&mut self, text: String, range: &Range<usize>) {
        if text == "*" {
            return self.policy.binaries.allow.push(text);
        }
        if !self.is_program(&text, range) {
            return;
        }
        let name = text.rsplit('/').next().unwrap_or(&text);
        let sub_of = |known: &str| known.strip_prefix(name).is_some_and(|rest| rest.starts_with(' '));
        let known = profile::is_known(name)
            || profile::wrappers::is_wrapper(name)
            || profile::known_names().any(sub_of)
            || matches!(name, "python3" | "pip3");
        if !known {
            let mut names: Vec<&str> = profile::known_names().collect();
            names.sort_unstable();
            let near = convoke_model::nearest(name, names.iter().copied());
            let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            let help = format!(
                "{near}a program without a profile belongs in `binaries.trust`: it then runs with any arguments, in the sandbox alone"
            );
            self.findings.add(
                "policy::unknown_program",
                range,
                format!("nothing is known of the arguments of `{name}`"),
                Some(help),
            );
        }
        self.policy.binaries.allow.push(text);
    }

    fn is_program(&mut self, text: &str, range: &Range<usize>) -> bool {
        let fine = !text.is_empty()
            && text.split(' ').all(|part| {
                !part.is_empty()
                    && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.+[/:".contains(&byte))
            });
        if !fine {
            let help = "write its name, such as `ls`, or a sub-command, such as `git status`".to_owned();
            self.findings.add(
                "policy::bad_program",
                range,
                format!("`{text}` is no name of a program"),
                Some(help),
            );
        }
        fine
    }

    fn paths(&mut self, node: &Node) {
        for (key, of) in [
            ("read", (|policy| &mut policy.paths.read) as fn(&mut Policy) -> &mut Vec<PathPattern>),
            ("write", |policy| &mut policy.paths.write),
            ("protect", |policy| &mut policy.paths.protect),
            ("secret", |policy| &mut policy.paths.secret),
        ] {
            let Some(list) = below(node, key) else { continue };
            // What may be done is said anew; what may not is added to.
            if matches!(key, "read" | "write") && self.has_base {
                of(self.policy).clear();
            }
            for (text, range) in texts(list) {
                match PathPattern::parse(&text) {
                    Ok(pattern) => of(self.policy).push(pattern),
                    Err(why) => {
                        let message = format!("`{text}` is no path of a policy: {why}");
                        self.findings.add("policy::bad_path", &range, message, None);
                    }
                }
            }
        }
    }

    fn host(&mut self, text: String, range: &Range<usize>) {
        match parse_host(&text) {
            Ok(host) => self.policy.hosts.push(host),
            Err(why) => {
                let help = "write a name, such as `docs.example` or `http://localhost:3000`".to_owned();
                self.findings.add(
                    "policy::bad_host",
                    range,
                    format!("`{text}` is no host: {why}"),
                    Some(help),
                );
            }
        }
    }

    fn tools(&mut self, node: &Node) {
        if below(node, "allow").is_some() {
            self.policy.tools.allow.clear();
        }
        self.each(node, "allow", |reader, text, _| reader.policy.tools.allow.push(text));
        self.each(node, "deny", |reader, text, _| reader.policy.tools.deny.push(text));
    }

    fn environment(&mut self, node: &Node) {
        self.each(node, "assign", Self::assign);
        self.each(node, "pass", |reader, text, range| {
            if reader.is_variable(&text, range) {
                reader.policy.environment.pass.push(text);
            }
        });
        if let Some(Node { value: Value::Map(pairs), .. }) = below(node, "set") {
            for (name, range, value) in pairs {
                if self.is_variable(name, range)
                    && let Some(text) = word(value)
                {
                    self.policy.environment.set.insert(name.clone(), text);
                }
            }
        }
    }

    fn assign(&mut self, text: String, range: &Range<usize>) {
        if !self.is_variable(&text, range) {
            return;
        }
        if is_dangerous(&text) {
            let help = "set it in `environment.set`, where no agent chooses its value".to_owned();
            let message = format!("`{text}` decides which programs run, so no command may set it");
            return self.findings.add("policy::dangerous_variable", range, message, Some(help));
        }
        self.policy.environment.assign.push(text);
    }

    fn is_variable(&mut self, text: &str, range: &Range<usize>) -> bool {
        let fine = !text.is_empty()
            && !text.starts_with(|c: char| c.is_ascii_digit())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !fine {
            self.findings.add(
                "policy::bad_variable",
                range,
                format!("`{text}` is no name of a variable"),
                None,
            );
        }
        fine
    }

    fn limits(&mut self, node: &Node) {
        let text = |key: &str| below(node, key).and_then(word);
        let limits = &mut self.policy.limits;
        if let Some(bytes) = text("bytes").and_then(|text| size(&text)) {
            limits.bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(64 << 10);
        }
        if let Some(words) = text("words").and_then(|text| text.parse().ok()) {
            limits.words = words;
        }
        if let Some(commands) = text("commands").and_then(|text| text.parse().ok()) {
            limits.commands = commands;
        }
        if let Some(timeout) = text("timeout").and_then(|text| duration(&text)) {
            limits.timeout = timeout;
        }
        if let Some(output) = text("output").and_then(|text| size(&text)) {
            limits.output = output;
        }
    }
}

/// Variables by which a command would choose other programs than it names.
fn is_dangerous(name: &str) -> bool {
    const NAMES: [&str; 24] = [
        "PATH",
        "IFS",
        "ENV",
        "BASH_ENV",
        "SHELLOPTS",
        "BASHOPTS",
        "PS4",
        "PROMPT_COMMAND",
        "SHELL",
        "EDITOR",
        "VISUAL",
        "PAGER",
        "BROWSER",
        "HOME",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PYTHONHOME",
        "PERL5OPT",
        "PERL5LIB",
        "RUBYOPT",
        "NODE_OPTIONS",
        "RUSTC",
        "MAKEFLAGS",
        "CDPATH",
    ];
    const BEGINNINGS: [&str; 8] =
        ["LD_", "DYLD_", "GIT_", "BASH_FUNC", "RUSTC_", "CARGO_BUILD_", "CARGO_TARGET_", "npm_config_"];
    NAMES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

fn below<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    let Value::Map(pairs) = &node.value else { return None };
    pairs.iter().find(|(name, ..)| name == key).map(|(.., value)| value)
}

fn word(node: &Node) -> Option<String> {
    match &node.value {
        Value::Scalar(text, _) => Some(text.clone()),
        _ => None,
    }
}

/// The texts of a list; a single text is a list of one.
fn texts(node: &Node) -> Vec<(String, Range<usize>)> {
    let of = |node: &Node| word(node).map(|text| (text, node.range.clone()));
    match &node.value {
        Value::List(items) => items.iter().filter_map(of).collect(),
        _ if node.is_null() => Vec::new(),
        _ => of(node).into_iter().collect(),
    }
}

fn duration(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    match &text[digits.len()..] {
        "ms" => Some(Duration::from_millis(number)),
        "s" | "" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        "h" => Some(Duration::from_secs(number.checked_mul(3600)?)),
        _ => None,
    }
}

fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    match &text[digits.len()..] {
        "" | "B" => Some(number),
        "KiB" => number.checked_mul(1 << 10),
        "MiB" => number.checked_mul(1 << 20),
        "GiB" => number.checked_mul(1 << 30),
        _ => None,
    }
}
