//! What models are asked that merge, choose, examine, correct or repair, where the step has no words of its own.
//!
//! The texts are files beside this one, rendered with [`PromptKind::variables`]; a step replaces one by the key `prompt`.
//! System prompts are files too, and no templates; a step replaces one by the key `system_prompt`. A file's last line break is no
//! part of its text: `prompt` and `Builder::helper` take it off.

use crate::plan::PromptKind;

/// The system prompt of a model that merges.
pub const MERGER: &str = include_str!("prompts/system/merger.md");
/// The system prompt of a model that chooses.
pub const JUDGE: &str = include_str!("prompts/system/judge.md");
/// The system prompt of a model that writes programs.
pub const PROGRAMMER: &str = include_str!("prompts/system/programmer.md");
/// The system prompt of the model behind `llm`.
pub const READER: &str = include_str!("prompts/system/reader.md");
/// The system prompt of the assessor.
pub const ASSESSOR: &str = include_str!("prompts/system/assessor.md");
/// The system prompt of a model that corrects.
pub const REPAIRER: &str = include_str!("prompts/system/repairer.md");
/// The system prompt of a model that puts an output into shape.
pub const INPUT_REPAIRER: &str = include_str!("prompts/system/input_repairer.md");

/// The template of one kind of prompt.
pub fn prompt(kind: PromptKind) -> &'static str {
    let file = match kind {
        PromptKind::Merge => include_str!("prompts/merge.md"),
        PromptKind::Choose => include_str!("prompts/choose.md"),
        PromptKind::Assess => include_str!("prompts/assess.md"),
        PromptKind::Correct => include_str!("prompts/correct.md"),
        PromptKind::RepairInput => include_str!("prompts/repair_input.md"),
    };
    file.trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::parse_template;
    use std::collections::BTreeMap;

    #[test]
    fn every_prompt_uses_only_what_it_is_given() {
        for kind in PromptKind::ALL {
            let parsed = parse_template(prompt(kind), None, &BTreeMap::new()).expect("it can be read");
            for reference in parsed.references() {
                let name = reference.path[0].as_str();
                let local = ["output", "lost", "finding", "loop"].contains(&name);
                assert!(local || kind.variables().contains(&name), "{kind:?}: `{name}` is not given");
            }
        }
    }
}
