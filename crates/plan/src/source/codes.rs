//! The codes of reading, each with its meaning: the documentation has a page for every one.

/// Every code that reading can report, with one line about it.
pub const CODES: &[(&str, &str)] = &[
    ("env::recursion", "environment variables refer to one another without end"),
    ("env::unset", "a `${NAME}` without default names a variable that is not set"),
    (
        "env::unset_secret",
        "a credential refers to a variable that is not set (a warning until the run starts)",
    ),
    ("file::chain_too_long", "too many files include one another"),
    ("file::cycle", "files include one another in a circle"),
    ("file::empty", "the workflow file, or a plan, is empty"),
    ("file::missing", "a file does not exist"),
    ("file::no_path", "`!file` stands without a path"),
    ("file::not_a_file", "a path leads to a folder or a device"),
    ("file::not_a_mapping", "the workflow file holds a list or a single value"),
    ("file::not_utf8", "a file is binary or not UTF-8 text"),
    ("file::outside", "a file lies beyond the folder of the project"),
    ("file::too_large", "a file, or what files include, is too large"),
    ("file::unreadable", "a file exists and cannot be read"),
    ("org::refused", "a role is taken from an organisation that is refused, or that this build cannot read"),
    ("org::unknown_role", "an organisation has no such role"),
    ("workflow::bad_address", "an address does not have the required form"),
    ("workflow::bad_default", "a gate's default could not be its answer"),
    ("workflow::bad_duration", "a length of time does not have the required form"),
    ("workflow::bad_name", "a loop variable, a resource or a secret has a name that cannot be used"),
    ("workflow::bad_output_field", "the definition of an output field contradicts itself"),
    ("workflow::bad_path", "a path leads out of the folder that it must stay in"),
    ("workflow::bad_pattern", "a pattern is not a regular expression"),
    ("workflow::bad_question", "a question could never be answered"),
    ("workflow::bad_schema", "a JSON Schema that checks nothing, because it is none"),
    ("workflow::bad_source", "a path to a list has fewer than three parts"),
    ("workflow::condition_syntax", "a `when` cannot be read"),
    ("workflow::duplicate", "something stands twice where it may stand once"),
    ("workflow::empty_value", "a value that must say something is empty"),
    ("workflow::excludes", "two keys or values exclude one another"),
    ("workflow::missing_key", "a required key is missing"),
    ("workflow::needs_key", "a key has a meaning only together with another one"),
    (
        "workflow::never_holds",
        "an edge is never taken: its conditions contradict each other (an error), or one never holds (a warning)",
    ),
    ("workflow::no_effect", "a key is accepted for compatibility and does nothing here (a warning)"),
    ("workflow::not_a_workflow", "the file is of no known kind"),
    ("workflow::not_allowed_here", "a key belongs to another type of step or another provider"),
    ("workflow::out_of_range", "a number or a count is outside its bounds"),
    ("workflow::pipeline_cycle", "nodes of a pipeline lead to each other in a circle"),
    ("workflow::registry_reference", "a workflow is named by a registry instead of a path"),
    ("workflow::relationship_cycle", "personas hand work to each other in a circle"),
    ("workflow::reserved_name", "a loop variable takes a name that templates already use"),
    ("workflow::secret_in_text", "a reference to a secret stands in a text that is written down"),
    ("workflow::task_cycle", "tasks of a plan wait for each other in a circle"),
    ("workflow::unknown_event", "an edge waits for an event that no phase can announce"),
    ("workflow::unknown_key", "a key is not known"),
    ("workflow::unknown_node", "an edge or the entry names a node that is not there"),
    ("workflow::unknown_persona", "a node or a relationship names a persona that is not there"),
    ("workflow::unknown_provider", "the name of a provider is probably misspelt"),
    ("workflow::unknown_task", "a task of a plan needs a task that is not there"),
    ("workflow::unknown_value", "a word is none of those allowed"),
    ("workflow::unreachable", "a node that the entry of its pipeline does not lead to (a warning)"),
    ("workflow::unsupported_kind", "a manifest was asked for, and none stands behind the file"),
    ("workflow::wrong_type", "a value is of the wrong type"),
    ("yaml::alias_bomb", "aliases stand for too much when written out"),
    ("yaml::bad_merge", "a merge key `<<` brings something that is no mapping"),
    ("yaml::complex_key", "a key is a list or a mapping, most often a template without quotes"),
    ("yaml::duplicate_key", "a key stands twice in one mapping"),
    ("yaml::multiple_documents", "a file holds more than one YAML document"),
    ("yaml::recursive_alias", "an alias stands inside the value that it refers to"),
    ("yaml::syntax", "the file is not valid YAML"),
    ("yaml::tab", "a tab stands in the indentation"),
    ("yaml::too_deep", "the file has too many levels of nesting"),
    ("yaml::unknown_anchor", "an alias refers to an anchor that is not defined before it"),
    ("yaml::unknown_tag", "a tag is not known"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::CODES;

    fn codes_in(folder: &Path, found: &mut BTreeSet<String>) {
        let code = regex::Regex::new(r#""((?:env|file|org|workflow|yaml)::[a-z_0-9]+)""#).unwrap();
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                codes_in(&path, found);
            } else if path.file_name().is_some_and(|name| name != "codes.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.extend(code.captures_iter(&text).map(|capture| capture[1].to_owned()));
            }
        }
    }

    #[test]
    fn the_list_holds_the_codes_that_are_used_and_no_others() {
        let mut used = BTreeSet::new();
        codes_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/source"), &mut used);
        let listed: BTreeSet<String> = CODES.iter().map(|(code, _)| (*code).to_owned()).collect();
        assert_eq!(used, listed);
        assert!(CODES.is_sorted_by_key(|(code, _)| *code));
    }
}
