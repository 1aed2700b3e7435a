//! What an answer says.

use serde::Deserialize;

use crate::log::{Ask, Got};
use crate::routes::Effect;

/// An answer, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// The body's: recorded before it left.
    Own {
        /// Whether the effect took place.
        success: bool,
        /// What it says about itself.
        effect: Box<Effect>,
    },
    /// A refusal of the guard, by its code, or the body's word that it may be tried again.
    Refused(String),
    /// None.
    Nothing,
    /// Something that this service never says.
    Strange,
}

#[derive(Deserialize)]
struct Problem {
    code: String,
}

pub(crate) fn read(ask: &Ask) -> Said {
    let Got::Answer { status, body, .. } = &ask.got else { return Said::Nothing };
    if let Ok(effect) = serde_json::from_str(body) {
        return Said::Own { success: *status == 201, effect };
    }
    match serde_json::from_str::<Problem>(body) {
        Ok(problem) => Said::Refused(problem.code),
        Err(_) => Said::Strange,
    }
}

impl Said {
    pub(crate) fn is_refused(&self, wanted: &str) -> bool {
        matches!(self, Self::Refused(code) if code == wanted)
    }

    /// Nothing is said about the key: there was no answer, or the guard could not look.
    pub(crate) fn is_silent(&self) -> bool {
        *self == Self::Nothing || self.is_refused("IDEMPOTENCY_STORE_UNAVAILABLE")
    }
}
