//! The routes of the service, and what each owes to a key.

use serde::{Deserialize, Serialize};

/// A route under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    /// Writes a row in the transaction of the guard; a failure is the answer.
    Orders,
    /// The same with `retry_failed`: after a failure the next request runs.
    Retries,
    /// Writes a row and publishes an event, which two handlers get.
    Events,
    /// Calls the provider, and calls it again after a crash.
    Payments,
    /// Calls the provider, and never again after a crash.
    Refusals,
    /// Calls the provider, and after a crash asks it before anything runs.
    Recoveries,
}

/// One place where an effect of a key shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// The row of the body.
    Row,
    /// The call of the body to the provider.
    Call,
    /// The row of the handler of the event.
    Delivered,
    /// The call of the other handler of the event.
    Called,
}

impl Route {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Orders, Self::Retries, Self::Events, Self::Payments, Self::Refusals, Self::Recoveries];

    /// Its path below the root.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Orders => "/orders",
            Self::Retries => "/retries",
            Self::Events => "/events",
            Self::Payments => "/payments",
            Self::Refusals => "/refusals",
            Self::Recoveries => "/recoveries",
        }
    }

    /// Where a key that succeeded has its effects, one in each.
    #[must_use]
    pub fn parts(self) -> &'static [Part] {
        match self {
            Self::Orders | Self::Retries => &[Part::Row],
            Self::Events => &[Part::Row, Part::Delivered, Part::Called],
            Self::Payments | Self::Refusals | Self::Recoveries => &[Part::Call],
        }
    }

    /// Whether a failure is the answer of every later request too.
    #[must_use]
    pub fn keeps_failures(self) -> bool {
        self != Self::Retries
    }

    /// Whether a key may end with its outcome unknown.
    #[must_use]
    pub fn may_be_unknown(self) -> bool {
        self == Self::Refusals
    }
}

/// When the body fails by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fails {
    /// It does not.
    Never,
    /// At its first attempt.
    First,
    /// Each time.
    Always,
}

/// The body of a request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// What tells two requests with one key apart.
    pub payload: String,
    /// Whether it fails.
    pub fails: Fails,
}

/// Whose key it is: two of these never share an answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Owner {
    /// The tenant.
    pub tenant: String,
    /// The user.
    pub user: String,
    /// The route.
    pub route: Route,
    /// The key, which other owners use too.
    pub key: String,
}

/// One effect, wherever it shows, and what the answer of a body carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// On whose behalf.
    pub owner: Owner,
    /// Of which request.
    pub payload: String,
    /// Where.
    pub part: Part,
    /// Different for each effect.
    pub token: String,
}
