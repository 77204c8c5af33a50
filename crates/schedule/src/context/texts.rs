//! Outputs as texts: what a model reads of them, how large they are, how large ones are cut into parts.

use crate::state::{State, TaskIx};
use crate::view::View;
use convoke_model::excerpt::{bytes_of_tokens, headed, tokens_of_bytes};
use convoke_model::synthesis::{bare, readable};
use convoke_model::{Digest, JsonText, Payload, Piece};
use convoke_plan::Kind;
use serde_json::Value;

impl View<'_> {
    /// An output as JSON.
    pub fn json_of(&self, task: TaskIx) -> Value {
        self.written(task).value()
    }

    /// An output as it was written, unparsed where it is not made of others'.
    pub(crate) fn written(&self, task: TaskIx) -> JsonText {
        match &self.tasks[task].output {
            Some(Payload::Gathered) => self.gathered(task),
            Some(payload) => self.read(payload).unwrap_or_else(|| JsonText::of(&Value::Null)),
            None => JsonText::of(&Value::Null),
        }
    }

    /// A source of a merge as a value: what it gave, of a for_each the list of its outputs.
    pub(crate) fn source_value(&self, task: TaskIx) -> Value {
        match &self.tasks[task].output {
            Some(Payload::Gathered) => self.json_of(task)["outputs"].take(),
            _ => bare(self.json_of(task)),
        }
    }

    /// An output as a model reads it; of a for_each the outputs of its items under their keys.
    pub(crate) fn text_of(&self, task: TaskIx) -> String {
        match (&self.tasks[task].output, &self.node(task).kind) {
            (Some(Payload::Gathered), Kind::ForEach(_)) => self.items_text(task),
            _ => readable(&self.json_of(task)),
        }
    }

    fn items_text(&self, task: TaskIx) -> String {
        let item = |(index, member): (usize, &TaskIx)| {
            let text = match self.tasks[*member].succeeded() {
                true => self.text_of(*member),
                false => format!("(no output: {})", self.absence(*member).cause),
            };
            format!("#### {}\n\n{text}", self.key_of(task, index as u32))
        };
        let items: Vec<String> = self.group(task).members.iter().enumerate().map(item).collect();
        items.join("\n\n")
    }

    /// The text of a piece.
    pub(crate) fn piece_text(&self, piece: &Piece) -> String {
        let Some(task) = self.tasks.find(&piece.task) else { return String::new() };
        let text = self.text_of(task);
        match piece.part {
            None => text,
            Some([number, of]) => part_of(&text, number, of).to_owned(),
        }
    }

    /// An output up to so many tokens: the head of a larger one, with what is left out and where the whole is.
    pub(crate) fn output_excerpt(&self, task: TaskIx, tokens: u64) -> String {
        let text = self.text_of(task);
        let most = bytes_of_tokens(tokens);
        if text.len() <= most {
            return text;
        }
        let whole = self
            .digest_of(task)
            .map(|digest| format!("; the whole output of `{}` is {digest}", self.tasks[task].id));
        headed(&text, most, whole.unwrap_or_default())
    }
}

impl State {
    /// The size of an output in tokens, without reading it where its size is known.
    pub(crate) fn size_of(&self, task: TaskIx) -> u64 {
        let bytes = match &self.tasks[task].output {
            Some(Payload::Inline(text)) => text.as_str().len() as u64,
            Some(Payload::Blob { size, .. }) => *size,
            Some(Payload::Gathered) => {
                let members = self.tasks[task].group.iter().flat_map(|group| &group.members);
                return members.map(|member| self.size_of(*member)).sum();
            }
            None => 0,
        };
        tokens_of_bytes(bytes)
    }

    /// The address of an output.
    pub(crate) fn digest_of(&self, task: TaskIx) -> Option<Digest> {
        match self.tasks[task].output.as_ref()? {
            Payload::Inline(text) => Some(Digest::of(text.as_str().as_bytes())),
            Payload::Blob { digest, .. } => Some(*digest),
            Payload::Gathered => None,
        }
    }
}

/// The n-th of so many parts of a text, cut between characters.
pub(crate) fn part_of(text: &str, number: u32, of: u32) -> &str {
    let at = |number: u32| {
        text.floor_char_boundary((text.len() as u64 * u64::from(number) / u64::from(of.max(1))) as usize)
    };
    &text[at(number)..at(number + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_are_the_whole(text in "\\PC{0,200}", of in 1u32..9) {
            let all: String = (0..of).map(|number| part_of(&text, number, of)).collect();
            prop_assert_eq!(all, text);
        }
    }
}
