//! What is wrong with limits and budgets though each value by itself is right.
//!
//! Files are written by different people (the machine's owner, a project), and where both limit something both limits hold.
//! So two limits contradict each other only when they stand in the same file; a budget that is only half said, or a name that
//! stands for nothing, is wrong wherever it stands.

use super::Provider;
use super::layer::{LayerError, Origin};
use super::limits::service;
use super::values::Values;
use convoke_providers::preset;
use std::collections::BTreeMap;

/// What a call reserves for its answer unless less is configured; a rate below it never lets one through.
const ONE_CALL: u64 = 4_096;

/// Longest name of a resource.
const LONGEST_NAME: usize = 40;

/// Everything that does not fit together, each with its place.
pub fn find(values: &Values, providers: &BTreeMap<String, Provider>) -> Vec<LayerError> {
    let check = Check { values, providers };
    let mut found = Vec::new();
    found.extend(check.above("run.max_concurrency", "machine_concurrency"));
    check.provider_names(&mut found);
    check.services(&mut found);
    check.tenants(&mut found);
    check.resources(&mut found);
    check.budgets(&mut found);
    check.prices(&mut found);
    found.extend(check.retention());
    found
}

/// What is worth saying of it beside faults of single values: a value that is wrong may be what another one lacks.
pub fn beside(found: Vec<LayerError>, faults: &[LayerError]) -> Vec<LayerError> {
    let unread = faults.iter().any(|fault| fault.key().is_none());
    let wrong: Vec<&str> = faults.iter().filter_map(LayerError::key).map(table).collect();
    let names_are_wrong = wrong.iter().any(|table| table.starts_with("providers"));
    let follows = |fault: &LayerError| {
        let own = fault.key().map(table).unwrap_or_default();
        unread || wrong.contains(&own) || names_are_wrong && own.starts_with("limits.models")
    };
    found.into_iter().filter(|fault| !follows(fault)).collect()
}

/// The table that a key stands in; a key of no table stands alone.
fn table(key: &str) -> &str {
    key.rsplit_once('.').map_or(key, |(table, _)| table)
}

struct Check<'a> {
    values: &'a Values,
    providers: &'a BTreeMap<String, Provider>,
}

impl Check<'_> {
    /// A fault at a key's place.
    fn fault(&self, key: &str, message: String) -> LayerError {
        let origin = self.values.origin(key).cloned().unwrap_or(Origin::Default);
        LayerError::Value { key: key.to_owned(), origin, message }
    }

    fn same_file(&self, one: &str, other: &str) -> bool {
        match (self.values.origin(one), self.values.origin(other)) {
            (Some(Origin::File { path: one, .. }), Some(Origin::File { path: other, .. })) => one == other,
            _ => false,
        }
    }

    /// A status says which runs may go, and not which of them do.
    fn retention(&self) -> Option<LayerError> {
        let set = |key: &str| self.values.origin(key).is_some();
        let message = "it removes nothing by itself; add retention.older_than, keep_last or max_size";
        let alone =
            !["older_than", "keep_last", "max_size"].iter().any(|key| set(&format!("retention.{key}")));
        let key = "retention.status";
        (set(key) && alone).then(|| self.fault(key, message.to_owned()))
    }

    /// A limit above one that it is part of.
    fn above(&self, part: &str, whole: &str) -> Option<LayerError> {
        let (own, bound) = (self.values.fraction(part)?, self.values.fraction(whole)?);
        let place = self.values.origin(whole)?;
        let message = format!("{own} is more than `{whole}` allows, which is {bound} ({place})");
        (own > bound && self.same_file(part, whole)).then(|| self.fault(part, message))
    }

    /// A name of a provider that stands for none, where prompts would go.
    fn provider_names(&self, found: &mut Vec<LayerError>) {
        let tables = self.providers.keys().map(|name| (format!("providers.{name}.name"), true));
        for (key, is_built_in) in tables.chain([("provider.name".to_owned(), false)]) {
            let Some(name) = self.values.text(&key).filter(|name| !name.is_empty()) else { continue };
            // A table stands for a provider that is built in, not for another table.
            match is_built_in {
                true if preset::is_known(&name) => {}
                true => found.push(self.no_such_provider(&key, &name)),
                false => found.extend(self.unknown_provider(&key, &name)),
            }
        }
    }

    fn services(&self, found: &mut Vec<LayerError>) {
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for name in self.values.names_below("limits.models") {
            let first = self.first_below(&format!("limits.models.{name}"));
            let Some((provider, model)) = service(&name) else {
                found.push(self.fault(&first, format!("`{name}` is no `PROVIDER/MODEL` and no `PROVIDER`")));
                continue;
            };
            found.extend(self.unknown_provider(&first, provider));
            let folded = format!("{provider}/{}", model.unwrap_or_default()).to_lowercase();
            if let Some(other) = seen.insert(folded, name.clone()) {
                found.push(self.fault(&first, format!("`{name}` and `{other}` are the same model twice")));
            }
            self.rates(&name, model.map(|_| provider), found);
        }
    }

    /// The first key below a name, which stands for the name's place.
    fn first_below(&self, table: &str) -> String {
        let start = format!("{table}.");
        self.values.0.keys().find(|key| key.starts_with(&start)).cloned().unwrap_or_default()
    }

    fn unknown_provider(&self, key: &str, provider: &str) -> Option<LayerError> {
        let is_known = preset::is_known(provider) || self.providers.contains_key(provider);
        (!is_known).then(|| self.no_such_provider(key, provider))
    }

    fn no_such_provider(&self, key: &str, provider: &str) -> LayerError {
        let known = preset::names_in_words();
        let names = known.split(", ").chain(self.providers.keys().map(String::as_str));
        let advice = match convoke_model::nearest(provider, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("expected one of {known}, or a name of [providers]"),
        };
        self.fault(key, format!("unknown provider `{provider}`; {advice}"))
    }

    fn rates(&self, name: &str, provider: Option<&str>, found: &mut Vec<LayerError>) {
        let key = |name: &str, what: &str| format!("limits.models.{name}.{what}");
        for what in ["concurrency", "requests_per_minute", "tokens_per_minute"] {
            found.extend(provider.and_then(|provider| self.above(&key(name, what), &key(provider, what))));
        }
        let tokens = key(name, "tokens_per_minute");
        if self.values.number(&tokens).is_some_and(|rate| rate < ONE_CALL) {
            let message = format!("no call would ever start: each reserves {ONE_CALL} tokens for its answer");
            found.push(self.fault(&tokens, message));
        }
    }

    fn tenants(&self, found: &mut Vec<LayerError>) {
        for name in self.values.names_below("limits.tenants") {
            let table = format!("limits.tenants.{name}");
            found.extend(self.without_name(&table, &name));
            found.extend(self.above(&format!("{table}.concurrency"), "machine_concurrency"));
        }
    }

    fn without_name(&self, table: &str, name: &str) -> Option<LayerError> {
        let key = self.first_below(table);
        name.trim().is_empty().then(|| self.fault(&key, "a tenant needs a name".to_owned()))
    }

    fn resources(&self, found: &mut Vec<LayerError>) {
        for key in self.values.0.keys() {
            let Some(name) = key.strip_prefix("limits.resources.") else { continue };
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(is_plain) {
                let message = format!(
                    "the name of a resource is 1 to {LONGEST_NAME} letters, digits, `_`, `-` and `.`"
                );
                found.push(self.fault(key, message));
            }
        }
    }

    fn budgets(&self, found: &mut Vec<LayerError>) {
        let tenants = self.values.names_below("budgets.tenants");
        for name in &tenants {
            found.extend(self.without_name(&format!("budgets.tenants.{name}"), name));
        }
        let tenants = tenants.iter().map(|name| format!("budgets.tenants.{name}"));
        let parts: Vec<_> = tenants.chain(["budgets.run".to_owned()]).collect();
        for part in &parts {
            for what in ["usd", "tokens"] {
                found.extend(self.above(&format!("{part}.{what}"), &format!("budgets.day.{what}")));
            }
        }
        for budget in parts.iter().map(String::as_str).chain(["budgets.day"]) {
            found.extend(self.half_a_budget(budget));
        }
    }

    /// Half a price would make the other half free.
    fn prices(&self, found: &mut Vec<LayerError>) {
        for name in self.values.names_below("pricing") {
            let parts = ["input_per_mtok", "output_per_mtok"].map(|part| format!("pricing.{name}.{part}"));
            let first = self.first_below(&format!("pricing.{name}"));
            let missing = parts.iter().find(|part| self.values.origin(part).is_none());
            found.extend(missing.map(|part| self.fault(&first, format!("a price needs `{part}` too"))));
        }
    }

    /// A budget that leaves open how much, or what follows.
    fn half_a_budget(&self, below: &str) -> Option<LayerError> {
        let key = |key: &str| format!("{below}.{key}");
        let first = self.first_below(below);
        let (usd, tokens) = (key("usd"), key("tokens"));
        if first.is_empty() {
            return None;
        }
        if self.values.origin(&usd).or(self.values.origin(&tokens)).is_none() {
            return Some(self.fault(&first, format!("a budget needs `{usd}` or `{tokens}`")));
        }
        self.degrading(&key("when_spent"), &key("degrade_to"))
            .or_else(|| self.consequence_of_audit(&key("mode"), &key("when_spent")))
    }

    fn degrading(&self, when_spent: &str, degrade_to: &str) -> Option<LayerError> {
        let degrades = self.values.text(when_spent).as_deref() == Some("degrade");
        let model = self.values.text(degrade_to);
        match model.as_deref().map(str::trim) {
            None if degrades => {
                Some(self.fault(when_spent, format!("`degrade` needs a model in `{degrade_to}`")))
            }
            Some("") => Some(self.fault(degrade_to, "expected the name of a model".to_owned())),
            // A later file may say `stop` where an earlier one degrades.
            Some(_) if !degrades && !self.overruled(degrade_to, when_spent) => {
                Some(self.fault(degrade_to, format!("of use only with `{when_spent} = \"degrade\"`")))
            }
            _ => None,
        }
    }

    /// Whether another source than a key's own set what the key depends on.
    fn overruled(&self, key: &str, depends_on: &str) -> bool {
        self.values.origin(depends_on).is_some() && !self.same_file(key, depends_on)
    }

    fn consequence_of_audit(&self, mode: &str, when_spent: &str) -> Option<LayerError> {
        let audits = self.values.text(mode).as_deref() == Some("audit");
        let message = format!("nothing follows from a budget with `{mode} = \"audit\"`, which only reports");
        (audits && self.same_file(mode, when_spent)).then(|| self.fault(when_spent, message))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::refusals;

    #[track_caller]
    fn refused(text: &str, words: &str) {
        assert_eq!(refusals(&[text]), [words], "{text}");
    }

    #[test]
    fn half_a_price_is_no_price() {
        refused(
            "pricing.m.input_per_mtok = 1",
            "f.toml:1: `pricing.m.input_per_mtok`: a price needs `pricing.m.output_per_mtok` too",
        );
    }

    #[test]
    fn a_part_is_not_larger_than_the_whole_in_one_file() {
        refused(
            "machine_concurrency = 4\nrun.max_concurrency = 10",
            "f.toml:2: `run.max_concurrency`: 10 is more than `machine_concurrency` allows, which is 4 (f.toml:1)",
        );
        refused(
            "limits.models.openai.concurrency = 5\nlimits.models.'openai/m'.concurrency = 6",
            "f.toml:2: `limits.models.openai/m.concurrency`: 6 is more than `limits.models.openai.concurrency` \
             allows, which is 5 (f.toml:1)",
        );
        refused(
            "machine_concurrency = 4\nlimits.tenants.blue.concurrency = 5",
            "f.toml:2: `limits.tenants.blue.concurrency`: 5 is more than `machine_concurrency` allows, which is 4 \
             (f.toml:1)",
        );
        refused(
            "budgets.day.usd = 2.5\nbudgets.run.usd = 3",
            "f.toml:2: `budgets.run.usd`: 3 is more than `budgets.day.usd` allows, which is 2.5 (f.toml:1)",
        );
    }

    #[test]
    fn a_default_contradicts_nobody() {
        assert_eq!(refusals(&["run.max_concurrency = 1000\nlimits.tenants.blue.concurrency = 100"]), [""; 0]);
    }

    #[test]
    fn names_stand_for_something_and_once() {
        refused(
            "limits.models.opneai.concurrency = 5",
            "f.toml:1: `limits.models.opneai.concurrency`: unknown provider `opneai`; did you mean `openai`?",
        );
        refused(
            "provider.name = 'opneai'",
            "f.toml:1: `provider.name`: unknown provider `opneai`; did you mean `openai`?",
        );
        refused(
            "providers.mine.name = 'antropic'",
            "f.toml:1: `providers.mine.name`: unknown provider `antropic`; did you mean `anthropic`?",
        );
        assert_eq!(refusals(&["provider.name = 'mine'\nproviders.mine.name = 'openai'"]), [""; 0]);
        refused(
            "[limits.models]\n'openai/M'.concurrency = 5\n'openai/m'.concurrency = 5",
            "f.toml:3: `limits.models.openai/m.concurrency`: `openai/m` and `openai/M` are the same model twice",
        );
        refused(
            "limits.models.'openai/'.concurrency = 5",
            "f.toml:1: `limits.models.openai/.concurrency`: `openai/` is no `PROVIDER/MODEL` and no `PROVIDER`",
        );
        refused(
            "limits.resources.'two words' = 5",
            "f.toml:1: `limits.resources.two words`: the name of a resource is 1 to 40 letters, digits, `_`, `-` and `.`",
        );
        refused("limits.tenants.''.weight = 5", "f.toml:1: `limits.tenants..weight`: a tenant needs a name");
    }

    #[test]
    fn a_rate_lets_a_call_through() {
        refused(
            "limits.models.openai.tokens_per_minute = 4095",
            "f.toml:1: `limits.models.openai.tokens_per_minute`: no call would ever start: each reserves 4096 tokens \
             for its answer",
        );
    }

    #[test]
    fn a_budget_is_said_whole() {
        refused(
            "budgets.day.mode = 'audit'",
            "f.toml:1: `budgets.day.mode`: a budget needs `budgets.day.usd` or `budgets.day.tokens`",
        );
        refused(
            "budgets.day.usd = 1\nbudgets.day.when_spent = 'degrade'",
            "f.toml:2: `budgets.day.when_spent`: `degrade` needs a model in `budgets.day.degrade_to`",
        );
        refused(
            "budgets.run.tokens = 9\nbudgets.run.degrade_to = 'small'",
            "f.toml:2: `budgets.run.degrade_to`: of use only with `budgets.run.when_spent = \"degrade\"`",
        );
        refused(
            "budgets.tenants.blue.usd = 1\nbudgets.tenants.blue.mode = 'audit'\n\
             budgets.tenants.blue.when_spent = 'ask'",
            "f.toml:3: `budgets.tenants.blue.when_spent`: nothing follows from a budget with \
             `budgets.tenants.blue.mode = \"audit\"`, which only reports",
        );
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        let text =
            "machine_concurrency = 0\nlimits.queue = -1\nlimits.resources.gpu = 2_000_000_000\nlimits.x = 1";
        let expected = [
            "f.toml:1: `machine_concurrency`: expected a whole number from 1 to 1000000, found 0",
            "f.toml:2: `limits.queue`: expected a whole number from 1 to 1000000000, found -1",
            "f.toml:3: `limits.resources.gpu`: expected a whole number from 1 to 1000000000, found 2000000000",
            "f.toml:4: unknown key `limits.x`; known here: models, tenants, resources, orchestrations, queue, age_turn, max_wait_seconds, breaker",
        ];
        assert_eq!(refusals(&[text]), expected);
    }
}
