//! `type: tool`: the call, with everything that can be known before the run worked out.

use super::super::build::Builder;
use super::super::{own, servers};
use crate::plan::{Argument, Text, Tool};
use crate::source::declared;
use crate::source::workflow as source;
use convoke_model::{OWN_SERVER, Servers};
use serde_json::Value;
use std::sync::Arc;

impl Builder<'_> {
    /// The plan's form of a tool step.
    pub(in crate::compile) fn tool(&mut self, step: &source::ToolStep) -> Tool {
        let name = step.tool.as_ref().map(|name| name.value.clone()).unwrap_or_default();
        let servers = match own::is_called(step) {
            true => Arc::new(Servers::from([(
                OWN_SERVER.to_owned(),
                own::own_server(vec![name.clone()], self.policies(None)),
            )])),
            false => self.servers.clone(),
        };
        Tool {
            server: servers::called(&servers, step),
            servers,
            tool: name,
            arguments: self.arguments(&step.arguments),
            schema: step.output.as_ref().map(declared::schema),
        }
    }

    fn arguments(&mut self, source: &source::Arguments) -> Vec<(String, Argument)> {
        source.iter().map(|(name, entry)| (name.clone(), self.argument(&entry.value))).collect()
    }

    fn argument(&mut self, source: &source::Argument) -> Argument {
        match source {
            source::Argument::Value(value) => Argument::Value(value.clone()),
            source::Argument::Text(text) => match self.texts.text(text) {
                Text::Literal(text) => Argument::Value(Value::from(&*text)),
                Text::Template(id) => Argument::Template(id),
            },
            source::Argument::List(items) => {
                let items: Vec<Argument> = items.iter().map(|item| self.argument(item)).collect();
                known_list(&items).unwrap_or(Argument::List(items))
            }
            source::Argument::Map(entries) => {
                let entries = self.arguments(entries);
                known_map(&entries).unwrap_or(Argument::Map(entries))
            }
        }
    }
}

/// A list in which nothing is rendered is a value.
fn known_list(items: &[Argument]) -> Option<Argument> {
    let values: Option<Vec<Value>> = items.iter().map(|item| known(item).cloned()).collect();
    values.map(|values| Argument::Value(Value::Array(values)))
}

/// A map in which nothing is rendered is a value.
fn known_map(entries: &[(String, Argument)]) -> Option<Argument> {
    let values = entries.iter().map(|(name, value)| Some((name.clone(), known(value)?.clone())));
    values.collect::<Option<_>>().map(|values| Argument::Value(Value::Object(values)))
}

fn known(argument: &Argument) -> Option<&Value> {
    match argument {
        Argument::Value(value) => Some(value),
        _ => None,
    }
}
