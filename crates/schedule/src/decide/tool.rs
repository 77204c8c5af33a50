//! What an attempt at a tool is given: the arguments, rendered.

use crate::state::TaskIx;
use crate::view::View;
use convoke_model::{Failure, JsonText, ToolWork};
use convoke_plan::template::to_json;
use convoke_plan::{Argument, Tool};
use serde_json::{Map, Value as Json};

impl View<'_> {
    /// The call, ready to be made.
    pub(crate) fn tool_work(&self, task: TaskIx, tool: &Tool) -> Result<ToolWork, Failure> {
        let mut arguments = Map::new();
        for (name, argument) in &tool.arguments {
            let what = format!("arguments `{name}`");
            arguments.insert(name.clone(), self.argument(task, argument, &what)?);
        }
        Ok(ToolWork {
            servers: tool.servers.clone(),
            server: tool.server.clone(),
            tool: tool.tool.clone(),
            arguments: JsonText::of(&Json::Object(arguments)),
            schema: tool.schema.clone(),
        })
    }

    fn argument(&self, task: TaskIx, argument: &Argument, what: &str) -> Result<Json, Failure> {
        let inner = |argument: &Argument| self.argument(task, argument, what);
        match argument {
            Argument::Value(value) => Ok(value.clone()),
            Argument::Template(id) => Ok(to_json(&self.value_of(task, *id, what)?)),
            Argument::List(items) => items.iter().map(inner).collect::<Result<_, _>>().map(Json::Array),
            Argument::Map(entries) => {
                let entry = |(name, argument): &(String, Argument)| Ok((name.clone(), inner(argument)?));
                entries.iter().map(entry).collect::<Result<_, _>>().map(Json::Object)
            }
        }
    }
}
