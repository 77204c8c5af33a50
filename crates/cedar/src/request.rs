//! A question as Cedar takes it: entities with those above them, and a context.

use cedar_policy::{Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, Request};
use convoke_policy::{Action, Actor, Question, Resource};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// The request and everything that it names; the error says what cannot be said in Cedar.
pub fn of(actor: &Actor, question: &Question) -> Result<(Request, Entities), String> {
    let mut known = Known::default();
    let principal = match &actor.persona {
        Some(persona) => known.add("Persona", persona, None),
        None => known.add("Step", &actor.step, None),
    };
    let action = action(&mut known, &question.action);
    let resource = resource(&mut known, &question.resource);
    let mut context = Map::new();
    context.insert("contract".to_owned(), sayable(&actor.contract).unwrap_or_else(|| json!({})));
    if let Some(access) = question.access {
        context.insert("access".to_owned(), json!(access.word()));
    }
    let context = Context::from_json_value(Value::Object(context), None)
        .map_err(|error| format!("the contract cannot be said in Cedar: {error}"))?;
    let request = Request::new(principal, action, resource, context, None)
        .map_err(|error| format!("Cedar takes no such question: {error}"))?;
    let entities = Entities::from_entities(known.entities, None)
        .map_err(|error| format!("Cedar takes no such question: {error}"))?;
    Ok((request, entities))
}

fn action(known: &mut Known, action: &Action) -> EntityUid {
    match action {
        Action::Command(key) => {
            let all = known.add("Action", "command", None);
            let mut above = all;
            for (at, _) in key.match_indices(' ') {
                above = known.add("Command::Action", &key[..at], Some(above));
            }
            known.add("Command::Action", key, Some(above))
        }
        Action::Tool(name) => {
            let all = known.add("Action", "tool", None);
            known.add("Tool::Action", name, Some(all))
        }
    }
}

fn resource(known: &mut Known, resource: &Resource) -> EntityUid {
    match resource {
        Resource::Path(path) => {
            let mut above = known.add("Path", ".", None);
            let ends =
                path.match_indices('/').map(|(at, _)| at).chain((!path.is_empty()).then_some(path.len()));
            for end in ends {
                above = known.add("Path", &path[..end], Some(above));
            }
            above
        }
        Resource::Host(host) => {
            let name = known.add("Host", &host.name, None);
            known.add("Host", &host.to_string(), Some(name))
        }
        Resource::Tool(name) => known.add("Tool", name, None),
    }
}

#[derive(Default)]
struct Known {
    entities: Vec<Entity>,
}

impl Known {
    fn add(&mut self, kind: &str, name: &str, above: Option<EntityUid>) -> EntityUid {
        let kind: EntityTypeName = kind.parse().expect("kinds are names of Cedar");
        let uid = EntityUid::from_type_name_and_id(kind, EntityId::new(name));
        self.entities.push(Entity::new_no_attrs(uid.clone(), HashSet::from_iter(above)));
        uid
    }
}

/// A value without what Cedar has no values for: nothing is left out, and a number with a fraction becomes a text.
fn sayable(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Null => return None,
        Value::Number(number) if number.is_i64() => value.clone(),
        Value::Number(number) => json!(number.to_string()),
        Value::Array(items) => items.iter().filter_map(sayable).collect(),
        Value::Object(pairs) => {
            // Keys of this form would be read as entities or as calls of extensions.
            let plain = pairs.iter().filter(|(key, _)| !key.starts_with("__"));
            plain
                .filter_map(|(key, value)| Some((key.clone(), sayable(value)?)))
                .collect::<Map<_, _>>()
                .into()
        }
        other => other.clone(),
    })
}
