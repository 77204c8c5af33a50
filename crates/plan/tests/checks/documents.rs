//! The codes of findings and the schema, held against the documents.

#[test]
fn every_code_is_listed_once() {
    let mut codes: Vec<&str> = convoke_plan::check::CODES.iter().map(|(code, _)| *code).collect();
    let count = codes.len();
    codes.dedup();
    assert_eq!(codes.len(), count);
    assert!(codes.is_sorted());
}

/// The documents of the repository.
fn documents() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

#[test]
fn every_code_has_a_page_and_a_line_in_the_list() {
    let list = std::fs::read_to_string(documents().join("errors/README.md")).unwrap();
    for (code, _) in convoke_plan::check::CODES.iter().chain(convoke_plan::source::CODES) {
        let page = format!("{}.md", code.replace("::", "--"));
        let text = std::fs::read_to_string(documents().join("errors").join(&page));
        assert!(text.is_ok_and(|text| text.starts_with(&format!("# `{code}`"))), "{page}");
        assert!(list.contains(&format!("[`{code}`]({page})")), "{code} is not in the list");
    }
}

#[test]
fn the_schema_beside_the_documents_is_the_one_of_the_language() {
    let text = std::fs::read_to_string(documents().join("workflow.schema.json")).unwrap();
    let written: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        written,
        convoke_plan::source::schema(),
        "write it anew: convoke schema > docs/workflow.schema.json"
    );
}
