//! What the attempts of a task were allowed to do and use: their contracts, with the tools that were settled.

use super::InspectedRun;
use convoke_model::{Allowance, Approvals, Budget, Contract, Event, Stamped, TaskId};
use serde_json::{Value, json};

impl InspectedRun {
    /// For programs: each attempt's, where attempts have any.
    pub(super) fn contracts_json(&self, id: &TaskId) -> Option<Value> {
        let all = contracts(&self.stored.events, id);
        let told = |(attempt, contract): &(u32, Contract)| json!({"attempt": attempt, "contract": contract});
        (!all.is_empty()).then(|| all.iter().map(told).collect())
    }

    /// For people: the last attempt's.
    pub(super) fn contract_text(&self, id: &TaskId) -> String {
        let all = contracts(&self.stored.events, id);
        let Some((attempt, contract)) = all.last() else { return String::new() };
        let lines: String = lines(contract).into_iter().map(|line| format!("  {line}\n")).collect();
        format!("\ncontract of attempt {attempt}:\n{lines}")
    }
}

/// The contracts of a task's attempts, as they came to be.
fn contracts(events: &[Stamped], id: &TaskId) -> Vec<(u32, Contract)> {
    let mut all: Vec<(u32, Contract)> = Vec::new();
    for stamped in events {
        match &stamped.event {
            Event::ContractResolved { task, attempt, contract } if task == id => {
                all.push((*attempt, contract.clone()));
            }
            Event::ToolsSettled { task, attempt, allowed_tools } if task == id => {
                let last = all.last_mut().filter(|(known, _)| known == attempt);
                last.into_iter().for_each(|(_, contract)| settle(contract, allowed_tools));
            }
            _ => {}
        }
    }
    all
}

fn settle(contract: &mut Contract, names: &[String]) {
    contract.allowed_tools = Some(names.to_vec());
    contract.tools_settled = true;
}

fn lines(contract: &Contract) -> Vec<String> {
    let persona = contract.persona.iter().map(|persona| format!(", as {persona}"));
    let mut lines = vec![format!("{}{}", contract.phase, persona.collect::<String>())];
    if let Some(provider) = &contract.provider {
        lines.push(format!("model: {}", models(contract, provider)));
    }
    lines.push(format!("tools: {}", tools(contract)));
    lines.extend(listed("banned", &contract.banned_tools));
    lines.extend(asked(contract));
    lines.extend(listed("secrets", &contract.secrets));
    lines.extend(contract.working_dir.iter().map(|folder| format!("folder: {folder}")));
    lines.extend(Some(limits(contract)).filter(|limits| !limits.is_empty()));
    lines.extend(contract.budgets.iter().map(budget));
    lines.push(format!("a violation: {}", json!(contract.violation).as_str().unwrap_or_default()));
    lines
}

fn models(contract: &Contract, provider: &str) -> String {
    let own = if contract.model.is_empty() { "its own" } else { &contract.model };
    let others = [
        ("else", &contract.other_models),
        ("about the answer", &contract.helper_models),
        ("once a budget is spent", &contract.cheaper_models),
    ];
    let others = others.iter().filter_map(|(when, models)| listed(when, models));
    [format!("{own} of {provider}")].into_iter().chain(others).collect::<Vec<_>>().join("; ")
}

fn tools(contract: &Contract) -> String {
    match (&contract.allowed_tools, contract.tools_settled) {
        (Some(names), _) if names.is_empty() => "none".to_owned(),
        (Some(names), true) => names.join(", "),
        (Some(entries), false) => format!("what fits {}", entries.join(", ")),
        (None, _) => "all that there are".to_owned(),
    }
}

/// Which calls a person must allow, where it has tools.
fn asked(contract: &Contract) -> Option<String> {
    let words = approvals_in_words(&contract.approvals);
    (!contract.allows_nothing()).then(|| format!("approvals: {words}"))
}

/// Which calls a person must allow.
pub(super) fn approvals_in_words(approvals: &Approvals) -> String {
    let named = listed("and in any case", &approvals.tools).map(|named| format!(", {named}"));
    let within = approvals.within_ms.map(|ms| format!(", within {} s", ms as f64 / 1000.0));
    format!("{}{}{}", approvals.level.word(), named.unwrap_or_default(), within.unwrap_or_default())
}

fn limits(contract: &Contract) -> String {
    let time = contract.timeout_ms.map(|ms| format!("{} s", ms as f64 / 1000.0));
    let tokens = contract.max_tokens.map(|tokens| format!("{tokens} tokens an answer"));
    let rounds = contract.max_iterations.map(|rounds| format!("{rounds} rounds of tool calls"));
    let limits: Vec<String> = [time, tokens, rounds].into_iter().flatten().collect();
    if limits.is_empty() { String::new() } else { format!("limits: {}", limits.join(", ")) }
}

fn budget(allowance: &Allowance) -> String {
    let Budget { micros, tokens, audit, .. } = &allowance.budget;
    let money = micros.map(|micros| format!("${}", micros as f64 / 1e6));
    let amounts: Vec<String> =
        money.into_iter().chain(tokens.map(|tokens| format!("{tokens} tokens"))).collect();
    let audit = if *audit { " (only reports)" } else { "" };
    format!("{}: {}{audit}", allowance.name, amounts.join(", "))
}

fn listed(what: &str, names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_model::Timestamp;

    fn stamped(event: Event) -> Stamped {
        Stamped { seq: 1, at: Timestamp(1), event }
    }

    #[test]
    fn what_was_settled_is_the_contracts_of_its_attempt() {
        let task = TaskId("a".into());
        let resolved = |attempt| {
            let contract = Contract { phase: "p".into(), ..Contract::default() };
            stamped(Event::ContractResolved { task: task.clone(), attempt, contract })
        };
        let settled = |attempt: u32, names: &[&str]| {
            let allowed_tools = names.iter().map(|name| name.to_string()).collect();
            stamped(Event::ToolsSettled { task: task.clone(), attempt, allowed_tools })
        };
        let events = [resolved(1), settled(1, &["s__a"]), resolved(2), settled(2, &["s__b"])];
        let told: Vec<_> = contracts(&events, &task).iter().map(|(_, contract)| tools(contract)).collect();
        assert_eq!(told, ["s__a", "s__b"]);
        let told: Vec<_> =
            contracts(&events[..3], &task).iter().map(|(_, contract)| tools(contract)).collect();
        assert_eq!(told, ["s__a", "all that there are"], "a second attempt has not settled yet");
        assert!(contracts(&events, &TaskId("b".into())).is_empty());
    }
}
