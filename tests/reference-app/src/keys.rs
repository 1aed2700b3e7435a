//! The secrets under which fingerprints are kept.

use idem_runtime::{FingerprintError, Keyring, Secret};

/// The keyring of secrets written as `id:text`; the first one seals, the others are accepted, none means plain hashes.
///
/// # Errors
///
/// When an id or a text is none that a secret can have.
pub fn keyring(secrets: &[String]) -> Result<Keyring, FingerprintError> {
    let mut secrets = secrets.iter().map(|secret| {
        let (id, text) = secret.split_once(':').unwrap_or(("", secret));
        Secret::new(id, text.as_bytes())
    });
    let mut keyring = secrets.next().transpose()?.map_or_else(Keyring::plain, Keyring::new);
    for secret in secrets {
        keyring = keyring.accept(secret?);
    }
    Ok(keyring)
}
