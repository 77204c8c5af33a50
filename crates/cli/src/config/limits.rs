//! What the configuration says about capacity and money, as the engine takes it.
//!
//! Values were checked one by one (`keys`) and against each other (`contradictions`) before; nothing is refused here.

use super::Provider;
use super::layer::Origin;
use super::values::Values;
use convoke_engine::{Breaker, BreakerKey, Durations, Limits, Queue, ServiceLimit, Stated, TenantLimit};
use convoke_govern::Learned;
use convoke_model::{Budget, WhenSpent};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Everything that is limited.
pub fn read(values: &Values, providers: &BTreeMap<String, Provider>) -> Limits {
    Limits {
        machine: stated(values, "machine_concurrency"),
        orchestrations: stated(values, "limits.orchestrations"),
        services: values
            .names_below("limits.models")
            .iter()
            .map(|name| service_limit(values, providers, name))
            .collect(),
        asks_nobody: false,
        tenants: tenants(values),
        resources: resources(values),
        day: budget(values, "budgets.day"),
        run: budget(values, "budgets.run"),
        breaker: breaker(values),
        queue: queue(values),
        max_wait: values.number("limits.max_wait_seconds").map(Duration::from_secs),
        seed: 0,
        follows_machine: false,
        learned: Learned::default(),
        durations: Durations::default(),
    }
}

/// The provider and the model in `PROVIDER/MODEL`; a model's name may hold further strokes. `None` if a part is empty.
pub fn service(name: &str) -> Option<(&str, Option<&str>)> {
    let (provider, model) = match name.split_once('/') {
        Some((provider, model)) => (provider.trim(), Some(model.trim())),
        None => (name.trim(), None),
    };
    (!provider.is_empty() && model != Some("")).then_some((provider, model))
}

fn stated(values: &Values, key: &str) -> Option<Stated> {
    let origin = values.origin(key).map(Origin::to_string)?;
    Some(Stated { limit: values.number(key)?, origin })
}

fn service_limit(values: &Values, providers: &BTreeMap<String, Provider>, name: &str) -> ServiceLimit {
    let get = |key: &str| stated(values, &format!("limits.models.{name}.{key}"));
    let (provider, model) = service(name).unwrap_or((name, None));
    // A name of `[providers]` is another name for a service, and plans know services only.
    let provider = providers.get(provider).map_or(provider, |known| &known.settings.name);
    ServiceLimit {
        provider: provider.to_owned(),
        model: model.map(str::to_owned),
        concurrency: get("concurrency"),
        requests_per_minute: get("requests_per_minute"),
        tokens_per_minute: get("tokens_per_minute"),
    }
}

fn tenants(values: &Values) -> Vec<TenantLimit> {
    let limited = values.names_below("limits.tenants");
    let names: BTreeSet<_> = limited.into_iter().chain(values.names_below("budgets.tenants")).collect();
    let tenant = |name: String| TenantLimit {
        concurrency: stated(values, &format!("limits.tenants.{name}.concurrency")),
        weight: values.count(&format!("limits.tenants.{name}.weight")),
        budget: budget(values, &format!("budgets.tenants.{name}")),
        name,
    };
    names.into_iter().map(tenant).collect()
}

fn resources(values: &Values) -> Vec<(String, Stated)> {
    let names = values.0.keys().filter_map(|key| key.strip_prefix("limits.resources."));
    names
        .filter_map(|name| Some((name.to_owned(), stated(values, &format!("limits.resources.{name}"))?)))
        .collect()
}

/// The budget below a key, if one is there.
fn budget(values: &Values, below: &str) -> Option<Budget> {
    let key = |key: &str| format!("{below}.{key}");
    let micros = values.fraction(&key("usd")).map(|usd| (usd * 1e6).round() as u64);
    let tokens = values.number(&key("tokens"));
    if micros.is_none() && tokens.is_none() {
        return None;
    }
    let audit = values.text(&key("mode")).as_deref() == Some("audit");
    let when_spent = match values.text(&key("when_spent")).as_deref() {
        Some("queue") => WhenSpent::Queue,
        Some("degrade") => WhenSpent::Degrade(values.text(&key("degrade_to"))?),
        Some("ask") => WhenSpent::Ask,
        _ => WhenSpent::Stop,
    };
    Some(Budget { micros, tokens, audit, when_spent, ..Budget::default() })
}

/// There is one unless its threshold is 0.
fn breaker(values: &Values) -> Option<Breaker> {
    let (get, usual) = (|key: &str| values.count(&format!("limits.breaker.{key}")), Breaker::default());
    let failures = get("failures").unwrap_or(usual.failures);
    (failures > 0).then(|| Breaker {
        failures,
        successes: get("successes").unwrap_or(usual.successes),
        cool_down_seconds: get("cool_down_seconds").map_or(usual.cool_down_seconds, u64::from),
        max_wait_seconds: get("max_wait_seconds").map_or(usual.max_wait_seconds, u64::from),
        per: match values.text("limits.breaker.per").as_deref() {
            Some("provider") => BreakerKey::Provider,
            Some("model") => BreakerKey::Model,
            _ => usual.per,
        },
    })
}

fn queue(values: &Values) -> Queue {
    let usual = Queue::default();
    let longest = values.number("limits.queue").and_then(|longest| usize::try_from(longest).ok());
    Queue {
        longest: longest.unwrap_or(usual.longest),
        age_turn: values.count("limits.age_turn").unwrap_or(usual.age_turn),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::resolve;
    use super::*;

    fn said(limit: u64, line: usize) -> Option<Stated> {
        Some(Stated { limit, origin: format!("f.toml:{line}") })
    }

    #[test]
    fn without_a_word_the_machine_is_limited_and_breakers_are_on() {
        let machine = Some(Stated { limit: 60, origin: "default".into() });
        let breaker = Some(Breaker::default());
        assert_eq!(resolve(&[]).limits, Limits { machine, breaker, ..Limits::default() });
    }

    #[test]
    fn services_tenants_and_resources_keep_who_limits_them() {
        let limits = resolve(&["\
machine_concurrency = 9
[limits]
models.openai.concurrency = 8
models.\"openai/gpt-5.2\".concurrency = 4
models.\"openai/gpt-5.2\".tokens_per_minute = 90_000
models.\"openrouter/qwen/qwen3\".requests_per_minute = 60
tenants.blue = {concurrency = 2, weight = 3}
resources.gpu = 1
queue = 500
age_turn = 4
"])
        .limits;
        let service = |provider: &str, model: Option<&str>| ServiceLimit {
            provider: provider.into(),
            model: model.map(str::to_owned),
            ..ServiceLimit::default()
        };
        let services = vec![
            ServiceLimit { concurrency: said(8, 3), ..service("openai", None) },
            ServiceLimit {
                concurrency: said(4, 4),
                tokens_per_minute: said(90_000, 5),
                ..service("openai", Some("gpt-5.2"))
            },
            ServiceLimit { requests_per_minute: said(60, 6), ..service("openrouter", Some("qwen/qwen3")) },
        ];
        let blue =
            TenantLimit { name: "blue".into(), concurrency: said(2, 7), weight: Some(3), budget: None };
        let expected = Limits {
            machine: said(9, 1),
            services,
            tenants: vec![blue],
            resources: vec![("gpu".into(), said(1, 8).unwrap())],
            queue: Queue { longest: 500, age_turn: 4 },
            breaker: Some(Breaker::default()),
            ..Limits::default()
        };
        assert_eq!(limits, expected);
    }

    #[test]
    fn budgets_are_enforced_unless_they_say_otherwise() {
        let limits = resolve(&["\
[budgets]
day = {usd = 20.5, when_spent = 'degrade', degrade_to = 'gpt-5-mini'}
run = {tokens = 1_000_000, mode = 'audit'}
tenants.blue = {usd = 2, when_spent = 'queue'}
"])
        .limits;
        let day = Budget {
            micros: Some(20_500_000),
            when_spent: WhenSpent::Degrade("gpt-5-mini".into()),
            ..Budget::default()
        };
        let run = Budget { tokens: Some(1_000_000), audit: true, ..Budget::default() };
        let blue = Budget { micros: Some(2_000_000), when_spent: WhenSpent::Queue, ..Budget::default() };
        assert_eq!((limits.day, limits.run), (Some(day), Some(run)));
        assert_eq!(limits.tenants[0].budget, Some(blue));
    }

    #[test]
    fn there_is_a_breaker_unless_its_threshold_is_0() {
        assert_eq!(resolve(&[]).limits.breaker, Some(Breaker::default()));
        assert_eq!(resolve(&["limits.breaker.failures = 0"]).limits.breaker, None);
        let limits = resolve(&["limits.breaker = {failures = 2, per = 'provider'}"]).limits;
        assert_eq!(
            limits.breaker,
            Some(Breaker { failures: 2, per: BreakerKey::Provider, ..Breaker::default() })
        );
    }

    #[test]
    fn another_name_of_a_service_is_that_service() {
        let text = "providers.mine.base_url = 'http://h/v1'\nlimits.models.'mine/m'.concurrency = 2";
        assert_eq!(resolve(&[text]).limits.services[0].provider, "openai");
    }
}
