//! Any bytes as a policy file: findings or a policy, and no panic. `cargo +nightly fuzz run policy` in `crates/policy`.
#![no_main]

use convoke_policy::Policy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(policy) = Policy::parse(&String::from_utf8_lossy(bytes)) {
        let _ = policy.explain();
    }
});
