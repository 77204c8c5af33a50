//! What a tool gave, in words and as data.
//!
//! Texts are passed on as they are, however long: bounding them is the agent's business. Parts that are no text become
//! a line that says what they are.

use convoke_agent::ToolResult;
use convoke_model::JsonText;
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};

/// A result that says what went wrong.
pub fn failed(text: impl Into<String>) -> ToolResult {
    ToolResult { text: text.into(), failed: true, ..ToolResult::default() }
}

/// The result of a call.
pub fn result(given: CallToolResult) -> ToolResult {
    let structured = given.structured_content.as_ref().map(JsonText::of);
    let text = match (&given.content[..], &structured) {
        ([], Some(structured)) => structured.as_str().to_owned(),
        (parts, _) => parts.iter().map(words).collect::<Vec<_>>().join("\n"),
    };
    ToolResult { text, structured, failed: given.is_error.unwrap_or(false), unknown: false }
}

fn words(part: &ContentBlock) -> String {
    match part {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => {
            described("image", Some(&image.mime_type), Some(decoded(&image.data)), None)
        }
        ContentBlock::Audio(audio) => {
            described("audio", Some(&audio.mime_type), Some(decoded(&audio.data)), None)
        }
        ContentBlock::Resource(resource) => contents(&resource.resource),
        ContentBlock::ResourceLink(link) => linked(link),
        _ => "[a part of a kind that is not known here]".to_owned(),
    }
}

fn contents(resource: &ResourceContents) -> String {
    match resource {
        ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
            format!("{}\n{text}", described("resource", mime_type.as_deref(), None, Some(uri)))
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            described("resource", mime_type.as_deref(), Some(decoded(blob)), Some(uri))
        }
        _ => described("resource", None, None, None),
    }
}

fn linked(link: &Resource) -> String {
    described(&format!("resource {}", link.name), link.mime_type.as_deref(), link.size, Some(&link.uri))
}

/// `[image image/png, 42 bytes: uri]`.
fn described(what: &str, mime: Option<&str>, size: Option<u64>, uri: Option<&str>) -> String {
    let mime = mime.map_or(String::new(), |mime| format!(" {mime}"));
    let size = size.map_or(String::new(), |size| format!(", {size} bytes"));
    let uri = uri.map_or(String::new(), |uri| format!(": {uri}"));
    format!("[{what}{mime}{size}{uri}]")
}

/// How many bytes a base64 text stands for.
fn decoded(base64: &str) -> u64 {
    base64.trim_end_matches('=').len() as u64 * 3 / 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parts_become_words() {
        let given: CallToolResult = serde_json::from_value(json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "audio", "data": "AAA=", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "AA=="}},
            {"type": "resource_link", "uri": "file:///c", "name": "c.txt", "size": 7},
        ]}))
        .unwrap();
        let expected = "one\n[image image/png, 3 bytes]\n[audio audio/wav, 2 bytes]\n\
                        [resource text/plain: file:///a]\ninside\n[resource, 1 bytes: file:///b]\n\
                        [resource c.txt, 7 bytes: file:///c]";
        assert_eq!(result(given), ToolResult { text: expected.into(), ..ToolResult::default() });
    }

    #[test]
    fn data_stands_for_words_where_there_are_none() {
        let given = serde_json::from_value(json!({"structuredContent": {"n": 1}, "isError": true})).unwrap();
        let structured = Some(JsonText::of(&json!({"n": 1})));
        assert_eq!(
            result(given),
            ToolResult { text: "{\"n\":1}".into(), structured, failed: true, unknown: false }
        );
    }
}
