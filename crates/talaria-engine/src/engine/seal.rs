//! Keeps what must survive until it is sent (prompts, answers) unreadable on disk.
//!
//! XChaCha20-Poly1305 with a key of 32 bytes in the home, readable by its owner alone. This protects backups and copies
//! of the database, but not against a user who can read the home. Sealed input is erased once it was sent.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use sha2::{Digest, Sha256};

/// The length of the key.
const KEY: usize = 32;
/// The length of what is different each time.
const NONCE: usize = 24;

/// Seals and opens.
#[derive(Clone)]
pub(crate) struct Seal {
    cipher: XChaCha20Poly1305,
    /// For marks; made of the key, which cannot be found out from it.
    marking: [u8; KEY],
}

impl Seal {
    /// Reads the key, or makes one where there is none.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        match read_key(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            key => return key.map(Self::with),
        }
        let mut key = [0; KEY];
        random(&mut key)?;
        // Written to a temporary file first: half a key would make everything unreadable.
        let fresh = path.with_extension("new");
        let _ = fs::remove_file(&fresh);
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.write_all(&key)?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        Ok(Self::with(key))
    }

    fn with(key: [u8; KEY]) -> Self {
        let marking = Sha256::new().chain_update(b"talaria marks").chain_update(key).finalize().into();
        Self { cipher: XChaCha20Poly1305::new(&Key::from(key)), marking }
    }

    /// Seals text.
    pub(crate) fn close(&self, text: &str) -> io::Result<Vec<u8>> {
        let mut nonce = [0; NONCE];
        random(&mut nonce)?;
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), text.as_bytes());
        let sealed = sealed.map_err(|_| io::Error::other("it cannot be sealed"))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    /// Opens what was sealed; `None` if the key is another one, or it was changed.
    pub(crate) fn reveal(&self, sealed: &[u8]) -> Option<String> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE>()?;
        let text = self.cipher.decrypt(&XNonce::from(*nonce), sealed).ok()?;
        String::from_utf8(text).ok()
    }

    /// A digest of something secret that may be shown and exported: without the key of the home no one can find
    /// out by trying which text the digest is of.
    pub(crate) fn mark(&self, digest: &str) -> String {
        hex::encode(Sha256::new().chain_update(self.marking).chain_update(digest).finalize())
    }
}

fn read_key(path: &Path) -> io::Result<[u8; KEY]> {
    let mut key = [0; KEY];
    File::open(path)?.read_exact(&mut key)?;
    Ok(key)
}

/// Fills `bytes` with random numbers of the system.
pub(crate) fn random(bytes: &mut [u8]) -> io::Result<()> {
    File::open("/dev/urandom")?.read_exact(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_was_sealed_is_read_with_the_same_key_only_and_never_twice_the_same() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("key");
        let seal = Seal::open(&path).unwrap();
        let (first, second) = (seal.close("a prompt").unwrap(), seal.close("a prompt").unwrap());
        assert_ne!(first, second);
        assert!(!first.windows(6).any(|part| part == b"prompt"));
        let again = Seal::open(&path).unwrap();
        assert_eq!(again.reveal(&first).as_deref(), Some("a prompt"));
        let mut changed = second;
        *changed.last_mut().unwrap() ^= 1;
        assert_eq!((again.reveal(&changed), again.reveal(b"short")), (None, None));
        let other = Seal::open(&home.path().join("other")).unwrap();
        assert_eq!(other.reveal(&first), None);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_mark_is_the_same_for_the_same_digest_in_the_same_home_only() {
        let home = tempfile::tempdir().unwrap();
        let [own, again, other] =
            ["key", "key", "other"].map(|name| Seal::open(&home.path().join(name)).unwrap());
        assert_eq!(own.mark("a"), again.mark("a"));
        assert_ne!(own.mark("a"), own.mark("b"));
        assert_ne!(own.mark("a"), other.mark("a"));
    }

    #[test]
    fn half_a_key_is_not_replaced_silently() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("key");
        fs::write(&path, b"half").unwrap();
        assert!(Seal::open(&path).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"half");
    }
}
