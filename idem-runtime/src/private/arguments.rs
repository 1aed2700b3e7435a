//! The arguments of a service function as one JSON object, for its fingerprint.

use serde::Serialize;

use crate::error::Error;
use crate::fingerprint::{Fingerprint, FingerprintError};

/// Arguments by name.
#[derive(Debug)]
pub struct Arguments(Result<Vec<u8>, FingerprintError>);

impl Default for Arguments {
    fn default() -> Self {
        Self::new()
    }
}

impl Arguments {
    /// No arguments.
    #[must_use]
    pub fn new() -> Self {
        Self(Ok(vec![b'{']))
    }

    /// Adds one; `name` is an identifier or a number, so that it needs no escapes.
    #[must_use]
    pub fn with<T: Serialize + ?Sized>(self, name: &str, value: &T) -> Self {
        Self(self.0.and_then(|mut json| {
            if json.len() > 1 {
                json.push(b',');
            }
            json.extend_from_slice(format!("\"{name}\":").as_bytes());
            serde_json::to_writer(&mut json, value).map_err(|_| FingerprintError::Unserializable)?;
            Ok(json)
        }))
    }

    /// The fingerprint of all of them.
    pub fn fingerprint(self) -> Result<Fingerprint, Error> {
        let mut json = self.0?;
        json.push(b'}');
        Ok(Fingerprint::json(&json)?)
    }
}
