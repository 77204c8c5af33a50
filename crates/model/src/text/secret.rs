//! What a name says about the value behind it.

/// Words that names of credentials hold.
const WORDS: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL"];

/// Whether something is named like a credential, so that what it holds is taken out of whatever is said. This may be
/// wrong about a name now and then: it costs a word in a message, not a program its variable.
pub fn is_named_like_one(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_secrets() {
        assert!(["OPENAI_API_KEY", "github_token", "DB_PASSWORD"].into_iter().all(is_named_like_one));
        assert!(!["PATH", "HOME", "args", "url"].into_iter().any(is_named_like_one));
    }
}
