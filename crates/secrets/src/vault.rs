//! The vault: one file in the age format, a description of what opens it beside it, and a lock for those that change it.
//!
//! Readers take no lock: a vault is replaced as a whole. Those that change it read, change and replace under one lock, so no change is lost.

use crate::contents::{Contents, Listed};
use crate::description::{Description, KeyKind};
use crate::private::{self, Refused};
use crate::value::LONGEST;
use crate::writing::write_private;
use age::{DecryptError, scrypt, x25519};
use rustix::fs::{FlockOperation, flock};
use secrecy::{ExposeSecret, SecretString};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use zeroize::Zeroizing;

/// The work that a passphrase costs, 2^17 blocks of 1 KiB: 128 MiB and about half a second, as OWASP has it. It does not depend on
/// how busy the machine is.
const WORK: u8 = 17;

/// The most work that a file may ask for: eight times that.
const MOST_WORK: u8 = 20;

/// The largest vault.
const LARGEST: usize = 64 << 20;

const VAULT: &str = "vault.age";
const DESCRIPTION: &str = "vault.json";
const LOCK: &str = "lock";

/// What opens a vault.
pub enum Key {
    /// A passphrase.
    Passphrase(SecretString),
    /// An identity of age (X25519).
    Identity(Box<x25519::Identity>),
}

/// Why a vault cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// There is none.
    #[error("there is no vault")]
    None,
    /// There is one already.
    #[error("there is a vault already")]
    Exists,
    /// The folder is not its owner's alone.
    #[error("the folder `{}` is refused: {reason}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file is not believed, or cannot be read.
    #[error("`{}`: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: Refused,
    },
    /// It cannot be written.
    #[error("`{}` cannot be written: {reason}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// The key is another one.
    #[error("the {0} does not open the vault")]
    WrongKey(&'static str),
    /// The file is no vault, or it was changed.
    #[error("the vault is damaged, or is none: {0}")]
    Damaged(String),
    /// A file holds no identity.
    #[error("`{}` holds no identity of age (a line `AGE-SECRET-KEY-1…`)", .0.display())]
    NoIdentity(PathBuf),
}

/// The vault of a folder.
#[derive(Debug, Clone)]
pub struct Vault {
    folder: PathBuf,
}

impl Vault {
    /// The vault that a folder holds, or will.
    pub fn at(folder: &Path) -> Vault {
        Vault { folder: folder.to_owned() }
    }

    /// Whether there is one.
    pub fn exists(&self) -> bool {
        self.folder.join(VAULT).exists()
    }

    /// What opens it; `None` where there is none.
    pub fn description(&self) -> Result<Option<Description>, VaultError> {
        if !self.folder.exists() {
            return Ok(None);
        }
        self.own_folder()?;
        let path = self.folder.join(DESCRIPTION);
        match private::bytes(&path, LONGEST) {
            Ok(text) => serde_json::from_slice(&text)
                .map(Some)
                .map_err(|error| VaultError::Damaged(format!("{DESCRIPTION}: {error}"))),
            Err(Refused::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(reason) => Err(VaultError::File { path, reason }),
        }
    }

    /// Makes an empty vault.
    pub fn init(&self, key: &Key, kind: KeyKind) -> Result<(), VaultError> {
        let made = DirBuilder::new().mode(0o700).recursive(true).create(&self.folder);
        made.map_err(|reason| VaultError::Write { path: self.folder.clone(), reason })?;
        self.own_folder()?;
        let _lock = self.lock()?;
        if self.folder.join(VAULT).exists() {
            return Err(VaultError::Exists);
        }
        let description = serde_json::to_vec_pretty(&Description::new(kind)).expect("it is JSON");
        self.write(DESCRIPTION, &description)?;
        self.write(VAULT, &encrypted(key, &Contents::empty().text())?)
    }

    /// The names in it.
    pub fn list(&self, key: &Key) -> Result<Vec<Listed>, VaultError> {
        Ok(self.contents(key)?.list())
    }

    /// Values by name; what is not there is left out. The file is opened once.
    pub fn get(&self, key: &Key, names: &[&str]) -> Result<Vec<(String, SecretString)>, VaultError> {
        let contents = self.contents(key)?;
        let one = |name: &&str| Some(((*name).to_owned(), contents.get(name)?));
        Ok(names.iter().filter_map(one).collect())
    }

    /// Sets a value; whether there was one.
    pub fn set(&self, key: &Key, name: &str, value: &SecretString, now: u64) -> Result<bool, VaultError> {
        self.change(key, |contents| {
            let was = contents.remove(name);
            contents.set(name, value.expose_secret(), now);
            was
        })
    }

    /// Takes a value away; whether there was one.
    pub fn remove(&self, key: &Key, name: &str) -> Result<bool, VaultError> {
        self.change(key, |contents| contents.remove(name))
    }

    fn change<T>(&self, key: &Key, change: impl FnOnce(&mut Contents) -> T) -> Result<T, VaultError> {
        self.require()?;
        let _lock = self.lock()?;
        let mut contents = self.contents(key)?;
        let changed = change(&mut contents);
        self.write(VAULT, &encrypted(key, &contents.text())?)?;
        Ok(changed)
    }

    fn contents(&self, key: &Key) -> Result<Contents, VaultError> {
        self.require()?;
        let path = self.folder.join(VAULT);
        let file = private::bytes(&path, LARGEST).map_err(|reason| VaultError::File { path, reason })?;
        let text = decrypted(key, &file)?;
        Contents::read(&text).map_err(|format| match format {
            Some(format) => VaultError::Damaged(format!("its format {format} is that of a newer version")),
            None => VaultError::Damaged("its text is not that of a vault".to_owned()),
        })
    }

    fn require(&self) -> Result<(), VaultError> {
        self.description()?.map(drop).ok_or(VaultError::None)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), VaultError> {
        let path = self.folder.join(name);
        write_private(&path, bytes).map_err(|reason| VaultError::Write { path, reason })
    }

    /// Held until it is dropped.
    fn lock(&self) -> Result<File, VaultError> {
        let path = self.folder.join(LOCK);
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let locked = file.and_then(|file| {
            flock(&file, FlockOperation::LockExclusive)?;
            Ok(file)
        });
        locked.map_err(|reason| VaultError::Write { path, reason })
    }

    /// A folder of this user, closed to others.
    fn own_folder(&self) -> Result<(), VaultError> {
        let refused = |reason: String| VaultError::Folder { path: self.folder.clone(), reason };
        let meta = std::fs::symlink_metadata(&self.folder).map_err(|error| refused(error.to_string()))?;
        match () {
            () if !meta.is_dir() => Err(refused("it is not a folder".to_owned())),
            () if meta.uid() != rustix::process::geteuid().as_raw() => {
                Err(refused(format!("it belongs to another user (uid {})", meta.uid())))
            }
            () if meta.mode() & 0o077 != 0 => {
                Err(refused(format!("others can enter it (mode {:04o})", meta.mode() & 0o7777)))
            }
            () => Ok(()),
        }
    }
}

impl Key {
    /// What it is called in messages.
    pub fn word(&self) -> &'static str {
        match self {
            Key::Passphrase(_) => "passphrase",
            Key::Identity(_) => "identity",
        }
    }

    /// The identity that a file holds: its first line that is one, as `age-keygen` writes it.
    pub fn from_identity_file(path: &Path) -> Result<Key, VaultError> {
        let text = private::bytes(path, LONGEST)
            .map_err(|reason| VaultError::File { path: path.to_owned(), reason })?;
        let text = std::str::from_utf8(&text).map_err(|_| VaultError::NoIdentity(path.to_owned()))?;
        let identity = text.lines().find_map(|line| x25519::Identity::from_str(line.trim()).ok());
        identity
            .map(|identity| Key::Identity(Box::new(identity)))
            .ok_or(VaultError::NoIdentity(path.to_owned()))
    }

    /// The public half of an identity.
    pub fn recipient(&self) -> Option<String> {
        match self {
            Key::Passphrase(_) => None,
            Key::Identity(identity) => Some(identity.to_public().to_string()),
        }
    }
}

/// Makes an identity and writes it into a new file with mode 0600.
pub fn new_identity(path: &Path) -> Result<Key, VaultError> {
    let failed = |reason| VaultError::Write { path: path.to_owned(), reason };
    let identity = x25519::Identity::generate();
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    let secret = identity.to_string();
    let text =
        Zeroizing::new(format!("# public key: {}\n{}\n", identity.to_public(), secret.expose_secret()));
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    Ok(Key::Identity(Box::new(identity)))
}

fn encrypted(key: &Key, text: &[u8]) -> Result<Vec<u8>, VaultError> {
    let encrypted = match key {
        Key::Passphrase(passphrase) => {
            let mut recipient = scrypt::Recipient::new(passphrase.clone());
            recipient.set_work_factor(WORK);
            age::encrypt(&recipient, text)
        }
        Key::Identity(identity) => age::encrypt(&identity.to_public(), text),
    };
    encrypted.map_err(|error| VaultError::Damaged(error.to_string()))
}

fn decrypted(key: &Key, file: &[u8]) -> Result<Zeroizing<Vec<u8>>, VaultError> {
    let decrypted = match key {
        Key::Passphrase(passphrase) => {
            let mut identity = scrypt::Identity::new(passphrase.clone());
            identity.set_max_work_factor(MOST_WORK);
            plain(&identity, file)
        }
        Key::Identity(identity) => plain(&**identity, file),
    };
    decrypted.map_err(|error| match error {
        DecryptError::DecryptionFailed | DecryptError::KeyDecryptionFailed | DecryptError::NoMatchingKeys => {
            VaultError::WrongKey(key.word())
        }
        other => VaultError::Damaged(other.to_string()),
    })
}

/// The text of a file, in one buffer: one that grows leaves copies behind.
fn plain(identity: &impl age::Identity, file: &[u8]) -> Result<Zeroizing<Vec<u8>>, DecryptError> {
    let mut text = Zeroizing::new(Vec::with_capacity(file.len() + 64));
    let decryptor = age::Decryptor::new_buffered(file)?;
    decryptor.decrypt(std::iter::once(identity as _))?.read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn value(text: &str) -> SecretString {
        SecretString::from(text.to_owned())
    }

    fn with_identity(folder: &Path) -> (Vault, Key) {
        let file = folder.join("identity");
        let key = new_identity(&file).unwrap();
        let vault = Vault::at(&folder.join("secrets"));
        let recipient = key.recipient().unwrap();
        vault.init(&key, KeyKind::Identity { file, recipient }).unwrap();
        (vault, key)
    }

    fn read(vault: &Vault, key: &Key, name: &str) -> Option<String> {
        vault.get(key, &[name]).unwrap().pop().map(|(_, value)| value.expose_secret().to_owned())
    }

    #[test]
    fn what_was_set_is_there_and_nothing_of_it_can_be_read_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let (vault, key) = with_identity(folder.path());
        assert!(!vault.set(&key, "SHOP_TOKEN", &value("canary-4242"), 7).unwrap());
        assert!(vault.set(&key, "SHOP_TOKEN", &value("canary-4343"), 8).unwrap());
        assert_eq!(read(&vault, &key, "SHOP_TOKEN").as_deref(), Some("canary-4343"));
        assert_eq!(vault.list(&key).unwrap(), [Listed { name: "SHOP_TOKEN".into(), set_at: 8 }]);
        for entry in std::fs::read_dir(folder.path().join("secrets")).unwrap().flatten() {
            let bytes = std::fs::read(entry.path()).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains("canary") && !text.contains("SHOP_TOKEN"), "{}", entry.path().display());
            assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        let again = Key::from_identity_file(&folder.path().join("identity")).unwrap();
        assert!(vault.remove(&again, "SHOP_TOKEN").unwrap() && !vault.remove(&again, "SHOP_TOKEN").unwrap());
        assert_eq!(read(&vault, &key, "SHOP_TOKEN"), None);
    }

    #[test]
    fn a_passphrase_opens_what_it_closed_and_another_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::at(&folder.path().join("secrets"));
        let key = Key::Passphrase(value("correct horse"));
        assert!(matches!(vault.list(&key), Err(VaultError::None)));
        vault.init(&key, KeyKind::Passphrase).unwrap();
        assert!(matches!(vault.init(&key, KeyKind::Passphrase), Err(VaultError::Exists)));
        vault.set(&key, "A", &value("canary-4242"), 0).unwrap();
        assert_eq!(read(&vault, &key, "A").as_deref(), Some("canary-4242"));
        let wrong = vault.list(&Key::Passphrase(value("battery staple"))).unwrap_err();
        assert!(matches!(wrong, VaultError::WrongKey("passphrase")), "{wrong}");
        let identity = new_identity(&folder.path().join("identity")).unwrap();
        assert!(vault.list(&identity).is_err());
    }

    #[test]
    fn a_changed_file_is_refused_wherever_it_was_changed() {
        let folder = tempfile::tempdir().unwrap();
        let (vault, key) = with_identity(folder.path());
        vault.set(&key, "A", &value("canary-4242"), 0).unwrap();
        let path = folder.path().join("secrets").join(VAULT);
        let whole = std::fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(7) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            write_private(&path, &bytes).unwrap();
            let refused = vault.list(&key).expect_err("a changed byte");
            assert!(!format!("{refused:?}").contains("canary"), "{refused:?}");
            write_private(&path, &whole[..at]).unwrap();
            assert!(vault.list(&key).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_vault_that_others_can_reach_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (vault, key) = with_identity(folder.path());
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
        };
        let inside = folder.path().join("secrets");
        mode(&inside.join(VAULT), 0o640);
        assert!(matches!(vault.list(&key), Err(VaultError::File { reason: Refused::Open(0o640), .. })));
        mode(&inside.join(VAULT), 0o600);
        mode(&inside, 0o750);
        assert!(matches!(vault.list(&key), Err(VaultError::Folder { .. })));
        mode(&inside, 0o700);
        mode(&folder.path().join("identity"), 0o644);
        assert!(Key::from_identity_file(&folder.path().join("identity")).is_err());
    }

    #[test]
    fn changes_at_the_same_time_are_all_there() {
        let folder = tempfile::tempdir().unwrap();
        let (vault, key) = with_identity(folder.path());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (vault, key) = (&vault, &key);
                scope.spawn(move || {
                    for number in 0..5 {
                        vault.set(key, &format!("S_{thread}_{number}"), &value("canary-4242"), 0).unwrap();
                    }
                });
            }
        });
        assert_eq!(vault.list(&key).unwrap().len(), 20);
    }
}
