//! What models are asked that merge, choose, examine, correct or repair, where the step has no words of its own.
//!
//! The texts are files beside this one, rendered with [`Asked::variables`]; a step replaces one by the key `prompt`.

use crate::plan::Asked;

/// The template of one kind of question.
pub fn prompt(asked: Asked) -> &'static str {
    let file = match asked {
        Asked::Merge => include_str!("prompts/merge.md"),
        Asked::Choose => include_str!("prompts/choose.md"),
        Asked::Assess => include_str!("prompts/assess.md"),
        Asked::Correct => include_str!("prompts/correct.md"),
        Asked::RepairInput => include_str!("prompts/repair_input.md"),
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
        for asked in Asked::ALL {
            let parsed = parse_template(prompt(asked), None, &BTreeMap::new()).expect("it can be read");
            for reference in parsed.references() {
                let name = reference.path[0].as_str();
                let local = ["output", "lost", "finding", "loop"].contains(&name);
                assert!(local || asked.variables().contains(&name), "{asked:?}: `{name}` is not given");
            }
        }
    }
}
