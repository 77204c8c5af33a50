//! What to do when no provider answers: the same words wherever that is noticed.

/// The ways to an answer, the usual one first.
pub fn to_get_an_answer() -> &'static [&'static str] {
    &[
        "-p openai asks any OpenAI-compatible service: set OPENAI_API_KEY, \
         or base_url and api_key below [provider] in convoke.toml",
        "-p anthropic and -p gemini need ANTHROPIC_API_KEY and GEMINI_API_KEY, -p openrouter OPENROUTER_API_KEY",
        "-p ollama, -p llamacpp and -p vllm ask a model on this machine, without a key",
        "-p scripted tries the workflow offline, with made-up answers",
        "in the workflow file: `runtime: {provider: openai}` below `workflow:`",
    ]
}
