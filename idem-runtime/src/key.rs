//! Who asks, for which operation, under which key: the four parts that make a record unique.
//!
//! Every part is checked once, here, so that each database can compare them byte by byte.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// Longest tenant, user or route in bytes; four of them fit into every database's index.
const MAX_PART: usize = 255;
/// Longest idempotency key that a client may send, in bytes.
const MAX_KEY: usize = 255;

/// A scope, key or route that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The part is empty; send a value, as an empty one would be shared by all callers.
    #[error("{part} is empty: give it a value, an empty one would be shared by everybody")]
    Empty {
        /// Which part: `tenant`, `user`, `route`, ...
        part: &'static str,
    },
    /// The part is longer than the index of a database can hold.
    #[error("{part} has {length} bytes: at most {limit} are allowed")]
    TooLong {
        /// Which part.
        part: &'static str,
        /// Its length in bytes.
        length: usize,
        /// The longest allowed length in bytes.
        limit: usize,
    },
    /// The part has a character that is not allowed there.
    #[error("{part} has the character {character:?} at byte {position}: {allowed}")]
    Character {
        /// Which part.
        part: &'static str,
        /// The first character that is refused.
        character: char,
        /// Where it stands, counted in bytes from zero.
        position: usize,
        /// What may stand there.
        allowed: &'static str,
    },
}

/// Checks length and characters of one part; `allowed` says in words what `accept` tests.
fn check(
    part: &'static str,
    text: &str,
    limit: usize,
    allowed: &'static str,
    accept: impl Fn(char) -> bool,
) -> Result<(), KeyError> {
    if text.is_empty() {
        return Err(KeyError::Empty { part });
    }
    if text.len() > limit {
        return Err(KeyError::TooLong { part, length: text.len(), limit });
    }
    match text.char_indices().find(|(_, character)| !accept(*character)) {
        None => Ok(()),
        Some((position, character)) => Err(KeyError::Character { part, character, position, allowed }),
    }
}

/// Whose operation it is: a tenant and a user, both always present.
///
/// There is no anonymous scope. An application with one tenant writes that one name.
///
/// ```
/// use idem_runtime::Scope;
///
/// let scope = Scope::new("acme", "user-7")?;
/// assert_eq!(scope.tenant(), "acme");
/// assert!(Scope::new("acme", "").is_err());
/// # Ok::<(), idem_runtime::KeyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    tenant: String,
    user: String,
}

impl Scope {
    /// A scope of one tenant and one user, each of 1 to 255 bytes without control characters.
    pub fn new(tenant: impl Into<String>, user: impl Into<String>) -> Result<Self, KeyError> {
        let (tenant, user) = (tenant.into(), user.into());
        for (part, text) in [("tenant", &tenant), ("user", &user)] {
            check(part, text, MAX_PART, "control characters are not allowed", |c| !c.is_control())?;
        }
        Ok(Self { tenant, user })
    }

    /// The tenant, as given.
    #[must_use]
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The user, as given.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }
}

/// The idempotency key of a request: what the client repeats when it tries again.
///
/// A key that a client sends has 1 to 255 visible ASCII characters; letter case counts.
///
/// ```
/// use idem_runtime::IdempotencyKey;
///
/// let key: IdempotencyKey = "8e03978e-40d5-43dd-bc93-6894a57f9324".parse()?;
/// assert_eq!(key.as_str().len(), 36);
/// assert!(IdempotencyKey::new("two words").is_err());
/// # Ok::<(), idem_runtime::KeyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// A key as a client sends it: 1 to 255 visible ASCII characters.
    pub fn new(key: impl Into<String>) -> Result<Self, KeyError> {
        let key = key.into();
        check("idempotency key", &key, MAX_KEY, "only visible ASCII characters are allowed", |c| {
            c.is_ascii_graphic()
        })?;
        Ok(Self(key))
    }

    /// The key of a second operation inside the one that `parts` names.
    ///
    /// The blank in it cannot be sent by a client, so that no client can meet a derived key.
    pub(crate) fn derived(kind: &str, parts: &[&str]) -> Self {
        Self(format!("{kind} {}", hex_digest(kind, parts)))
    }

    /// Whether it is the key of an operation inside another one.
    pub(crate) fn is_child(&self) -> bool {
        self.0.starts_with("child ")
    }

    /// A key that a database holds: it was checked when it was written.
    pub(crate) fn stored(key: String) -> Self {
        Self(key)
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for IdempotencyKey {
    type Err = KeyError;

    fn from_str(key: &str) -> Result<Self, KeyError> {
        Self::new(key)
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The stable name of an operation, the same in every version of the program: `orders.create`.
///
/// ```
/// use idem_runtime::Route;
///
/// let route = Route::new("orders.create")?;
/// let handler = Route::outbox("order.created", 1, "send-mail")?;
/// assert_eq!(handler.as_str(), "outbox:order.created:1:send-mail");
/// assert!(Route::new("Orders/create").is_err());
/// # Ok::<(), idem_runtime::KeyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Route(String);

const ROUTE_CHARACTERS: &str = "only a-z, 0-9, `.`, `_` and `-` are allowed";

fn is_route_character(c: char) -> bool {
    matches!(c, 'a'..='z' | '0'..='9' | '.' | '_' | '-')
}

impl Route {
    /// The route of a handler or service function: 1 to 255 of `a-z 0-9 . _ -`.
    pub fn new(name: impl Into<String>) -> Result<Self, KeyError> {
        let name = name.into();
        check("route", &name, MAX_PART, ROUTE_CHARACTERS, is_route_character)?;
        Ok(Self(name))
    }

    /// The route under which one handler of one version of an outbox event runs.
    ///
    /// No ordinary route can equal it, since those have no colon.
    pub fn outbox(event: &str, version: u32, handler_key: &str) -> Result<Self, KeyError> {
        check("event type", event, 120, ROUTE_CHARACTERS, is_route_character)?;
        check("handler key", handler_key, 110, ROUTE_CHARACTERS, is_route_character)?;
        Ok(Self(format!("outbox:{event}:{version}:{handler_key}")))
    }

    /// Whether it is the route of an outbox handler.
    pub(crate) fn is_outbox(&self) -> bool {
        self.0.starts_with("outbox:")
    }

    /// A route that a database holds: it was checked when it was written.
    pub(crate) fn stored(route: String) -> Self {
        Self(route)
    }

    /// The route as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The unique address of one record: tenant, user, route and key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordKey {
    scope: Scope,
    route: Route,
    key: IdempotencyKey,
}

impl RecordKey {
    /// The address of the record of `key` at `route` in `scope`.
    ///
    /// ```
    /// use idem_runtime::{IdempotencyKey, RecordKey, Route, Scope};
    ///
    /// let key = RecordKey::new(
    ///     Scope::new("acme", "user-7")?,
    ///     Route::new("orders.create")?,
    ///     IdempotencyKey::new("k1")?,
    /// );
    /// assert_eq!(key.route().as_str(), "orders.create");
    /// # Ok::<(), idem_runtime::KeyError>(())
    /// ```
    #[must_use]
    pub fn new(scope: Scope, route: Route, key: IdempotencyKey) -> Self {
        Self { scope, route, key }
    }

    /// The address in the words of the database, for looking a record up.
    ///
    /// Route and key need only fit into their columns, since those of outbox handlers are made by the library
    /// and are none that a client could send.
    ///
    /// ```
    /// use idem_runtime::RecordKey;
    ///
    /// assert!(RecordKey::stored("acme", "user-7", "outbox:order.created:1:send-mail", "event-1").is_ok());
    /// assert!(RecordKey::stored("acme", "user-7", "orders.create", "").is_err());
    /// # Ok::<(), idem_runtime::KeyError>(())
    /// ```
    pub fn stored(
        tenant: impl Into<String>,
        user: impl Into<String>,
        route: impl Into<String>,
        key: impl Into<String>,
    ) -> Result<Self, KeyError> {
        let (route, key) = (route.into(), key.into());
        for (part, text) in [("route", &route), ("idempotency key", &key)] {
            check(part, text, MAX_PART, "control characters are not allowed", |c| !c.is_control())?;
        }
        let scope = Scope::new(tenant, user)?;
        Ok(Self::new(scope, Route::stored(route), IdempotencyKey::stored(key)))
    }

    /// Tenant and user.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The operation.
    #[must_use]
    pub fn route(&self) -> &Route {
        &self.route
    }

    /// The idempotency key.
    #[must_use]
    pub fn key(&self) -> &IdempotencyKey {
        &self.key
    }

    /// The four columns in the order of the unique index.
    pub(crate) fn columns(&self) -> [&str; 4] {
        [&self.scope.tenant, &self.scope.user, &self.route.0, &self.key.0]
    }
}

/// SHA-256 in hex over a domain tag and length-prefixed parts, so that no two lists of parts collide.
pub(crate) fn hex_digest(domain: &str, parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in std::iter::once(&domain).chain(parts) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    data_encoding::HEXLOWER.encode(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_255_characters_is_accepted_and_one_of_256_is_not() {
        assert!(IdempotencyKey::new("k".repeat(255)).is_ok());
        assert!(matches!(IdempotencyKey::new("k".repeat(256)), Err(KeyError::TooLong { length: 256, .. })));
    }

    #[test]
    fn a_key_with_blanks_control_or_foreign_characters_is_refused() {
        for key in ["", " ", "a b", "a\tb", "a\u{1}b", "schl\u{fc}ssel", "a\nb", "a\0b"] {
            assert!(IdempotencyKey::new(key).is_err(), "{key:?}");
        }
    }

    #[test]
    fn a_scope_part_is_never_empty_and_has_no_control_characters() {
        assert!(Scope::new("", "u").is_err());
        assert!(Scope::new("t", "").is_err());
        assert!(Scope::new("t\0", "u").is_err());
        assert!(Scope::new("t", "u".repeat(256)).is_err());
        assert!(Scope::new("t:\u{fc} x", "u:1").is_ok());
    }

    #[test]
    fn the_longest_outbox_route_fits_the_column() {
        let route = Route::outbox(&"e".repeat(120), u32::MAX, &"h".repeat(110)).unwrap();
        assert!(route.as_str().len() <= MAX_PART, "{}", route.as_str().len());
    }

    #[test]
    fn a_route_has_no_other_characters_than_those_that_are_named() {
        assert!(Route::new("az09._-").is_ok());
        for name in ["", "Orders", "orders/create", "orders:create", "orders create", "\u{fc}"] {
            assert!(Route::new(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn the_route_of_a_handler_and_the_key_of_a_child_are_known_as_such() {
        assert!(Route::outbox("order.created", 1, "send-mail").unwrap().is_outbox());
        assert!(!Route::new("outbox.sent").unwrap().is_outbox());
        assert!(IdempotencyKey::derived("child", &["a"]).is_child());
        assert!(!IdempotencyKey::new("child").unwrap().is_child());
    }

    #[test]
    fn a_stored_key_comes_back_as_it_was_written_and_a_broken_one_is_refused() {
        let key = RecordKey::stored("acme", "ann", "outbox:a:1:b", "child 00").unwrap();
        assert_eq!((key.scope().tenant(), key.scope().user()), ("acme", "ann"));
        assert_eq!((key.route().as_str(), key.key().as_str()), ("outbox:a:1:b", "child 00"));
        assert!(RecordKey::stored("acme", "ann", "orders\0", "k").is_err());
    }

    #[test]
    fn a_client_cannot_send_a_derived_key() {
        let derived = IdempotencyKey::derived("child", &["a", "b"]);
        assert!(IdempotencyKey::new(derived.as_str()).is_err());
        assert!(derived.as_str().len() <= MAX_KEY);
    }

    #[test]
    fn parts_are_length_prefixed_so_that_they_cannot_run_together() {
        assert_ne!(hex_digest("d", &["ab", "c"]), hex_digest("d", &["a", "bc"]));
        assert_ne!(hex_digest("d", &["a:b", "c"]), hex_digest("d", &["a", "b:c"]));
    }
}
