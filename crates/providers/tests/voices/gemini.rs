//! Google's Gemini.

use super::*;

pub struct Gemini;

fn piece(parts: &Value) -> String {
    let candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    event(&json!({"candidates": [candidate], "modelVersion": "m-1"}))
}

impl Voice for Gemini {
    const NAME: &'static str = "gemini";
    const PATH: &'static str = "/v1/models/m-1:streamGenerateContent?alt=sse";
    const NAMES_CALLS: bool = false;

    fn words(pieces: &[&str]) -> Vec<String> {
        pieces.iter().map(|text| piece(&json!([{ "text": text }]))).collect()
    }

    fn calls(calls: &[Called]) -> Vec<String> {
        let parts = calls.iter().map(|call| {
            let args: Value = serde_json::from_str(call.arguments).unwrap();
            json!({"functionCall": {"name": call.name, "args": args}, "thoughtSignature": format!("sealed {}", call.id)})
        });
        vec![piece(&parts.collect())]
    }

    fn closing(end: End, _said: &[String]) -> String {
        let reason = match end {
            End::Stop | End::Calls => "STOP",
            End::Length => "MAX_TOKENS",
            End::Refusal => "SAFETY",
        };
        let usage = json!({"promptTokenCount": 11, "candidatesTokenCount": 3, "thoughtsTokenCount": 1, "cachedContentTokenCount": 8});
        let candidate =
            json!({"content": {"parts": [], "role": "model"}, "finishReason": reason, "index": 0});
        event(&json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m-1"}))
    }

    fn overloaded() -> String {
        event(
            &json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}),
        )
    }

    fn shape(body: &Value) -> &Value {
        assert_eq!(body["generationConfig"]["responseMimeType"], "application/json");
        &body["generationConfig"]["responseSchema"]
    }

    fn tools(body: &Value) -> Vec<&str> {
        let declared = body["tools"][0]["functionDeclarations"].as_array().unwrap().iter();
        declared.filter_map(|tool| tool["name"].as_str()).collect()
    }

    fn results(body: &Value) -> Vec<(String, String)> {
        let last = body["contents"].as_array().unwrap().last().unwrap();
        assert_eq!(last["role"], "user");
        let results = last["parts"].as_array().unwrap().iter().map(|part| &part["functionResponse"]);
        results.map(|result| (text(&result["name"]), text(&result["response"]["output"]))).collect()
    }
}
