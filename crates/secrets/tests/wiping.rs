//! What the memory that was given back still holds: nothing of a secret, wherever it came from and whatever was done with it.
//!
//! The allocator of this program looks at each block before it is given back. A secret in it was not wiped.

use convoke_secrets::{KeyKind, Vault, new_identity, private, value};
use secrecy::{ExposeSecret, SecretString};
use std::alloc::{GlobalAlloc, Layout, System};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Part of every secret here, without a character that JSON escapes.
const CANARY: &[u8] = b"canary-4242-of-the-vault";

/// Blocks that were given back with a secret in them.
static LEFT: AtomicUsize = AtomicUsize::new(0);

struct Looking;

// SAFETY: every call is passed on as it is; a block is read before it is given back, as far as its layout says.
unsafe impl GlobalAlloc for Looking {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Zeroed, so that what a block held before it was handed out is not taken for what its owner left.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // A smaller block stays where it is. One that grows is another block, and the old one is given back.
        if size <= layout.size() {
            return unsafe { System.realloc(block, layout, size) };
        }
        let new =
            Layout::from_size_align(size, layout.align()).expect("the caller has asked for such a block");
        let grown = unsafe { self.alloc(new) };
        if !grown.is_null() {
            unsafe {
                std::ptr::copy_nonoverlapping(block, grown, layout.size());
                self.dealloc(block, layout);
            }
        }
        grown
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let bytes = unsafe { std::slice::from_raw_parts(block, layout.size()) };
        if bytes.windows(CANARY.len()).any(|part| part == CANARY) {
            LEFT.fetch_add(1, Ordering::Relaxed);
        }
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static LOOKING: Looking = Looking;

#[test]
fn no_memory_that_is_given_back_holds_a_secret() {
    drop(std::hint::black_box(CANARY.to_vec()));
    assert_eq!(LEFT.swap(0, Ordering::Relaxed), 1, "the allocator sees what is left");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("identity");
    let key = new_identity(&file).unwrap();
    let vault = Vault::at(&folder.path().join("vault"));
    let recipient = key.recipient().unwrap();
    vault.init(&key, KeyKind::Identity { file, recipient }).unwrap();
    let secret = |text: &str| SecretString::from(text.to_owned().into_boxed_str());
    // One that JSON writes as it is, and one with line breaks and quotes, as keys have them.
    let values = [("PLAIN", "canary-4242-of-the-vault"), ("LINES", "a\n\"canary-4242-of-the-vault\"\nb")];
    for (name, text) in values {
        // What encrypts keeps a block of its own, in a command that ends with it.
        vault.set(&key, name, &secret(text), 1).unwrap();
    }
    LEFT.store(0, Ordering::Relaxed);
    for (name, text) in values {
        let got = vault.get(&key, &[name]).unwrap();
        assert_eq!(got[0].1.expose_secret(), text);
        drop(got);
        assert_eq!(LEFT.swap(0, Ordering::Relaxed), 0, "{name} was read");
    }
    assert_eq!(vault.list(&key).unwrap().len(), 2);
    assert_eq!(LEFT.swap(0, Ordering::Relaxed), 0, "listed");
    let path = folder.path().join("key");
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).unwrap();
    std::io::Write::write_all(&mut file, CANARY).unwrap();
    drop(private::secret(&path).unwrap());
    drop(value::of_text("canary-4242-of-the-vault").unwrap());
    assert_eq!(LEFT.load(Ordering::Relaxed), 0, "of a file and of a text");
}
