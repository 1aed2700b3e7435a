//! What one run of the checker explores: the policy, how many requests there are, and how much may go wrong.

use idem_runtime::{
    Answer, Bindings, Defaults, FencingToken, IdempotencyKey, Mode, OnLapse, Policy, PolicyError, Record,
    RecordKey, Route, Scope, Status, Terms, Timestamp,
};
use uuid::Uuid;

use crate::variants::Variant;

/// The clients: two send the same request, the third another one under the same key.
pub const CLIENTS: usize = 3;

/// Which of the two requests a client sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Request {
    /// That of the first two clients.
    One,
    /// That of the third.
    Other,
}

impl Request {
    /// The request of `client`.
    #[must_use]
    pub fn of(client: usize) -> Self {
        if client + 1 == CLIENTS { Self::Other } else { Self::One }
    }

    /// The fingerprint as it stands in the record.
    #[must_use]
    pub fn sealed(self) -> &'static str {
        match self {
            Self::One => "v1:-:01",
            Self::Other => "v1:-:02",
        }
    }
}

/// How often something may still happen; without a bound there would be no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Processes that die.
    pub crashes: u8,
    /// Callers that hang up.
    pub cancels: u8,
    /// Statements whose reply is lost, whether or not they were carried out, and commits that are refused.
    pub lost_replies: u8,
    /// Leases renewed.
    pub renewals: u8,
    /// Bodies that fail.
    pub failures: u8,
    /// Releases by an operator.
    pub releases: u8,
    /// Lives that end.
    pub ends: u8,
}

impl Budget {
    /// What a process and its network can do: callers hang up once, the rest happens twice.
    pub const FAULTS: Self = Self { crashes: 2, cancels: 1, lost_replies: 2, ..Self::NONE };
    /// What a body, its lease, the sweep and an operator can do, and one lost reply in between.
    pub const EVENTS: Self =
        Self { lost_replies: 1, renewals: 1, failures: 1, releases: 1, ends: 1, ..Self::NONE };
    /// All of it, once each.
    pub const ALL: Self = Self { crashes: 1, cancels: 1, ..Self::EVENTS };
    /// Nothing goes wrong.
    pub const NONE: Self =
        Self { crashes: 0, cancels: 0, lost_replies: 0, renewals: 0, failures: 0, releases: 0, ends: 0 };
}

/// One configuration.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The terms of the route.
    pub terms: Terms,
    /// How many requests each client sends, at most three.
    pub requests: [u8; CLIENTS],
    /// What may go wrong.
    pub budget: Budget,
    /// What is broken on purpose.
    pub variant: Variant,
    /// A record of the route, of which the model's rows change what they hold.
    pub(crate) template: Record,
}

impl Setup {
    /// A route of `mode` and `on_lapse`; each client sends one request, and nothing goes wrong.
    ///
    /// ```
    /// use idem_model::Setup;
    /// use idem_runtime::{Mode, OnLapse};
    ///
    /// let setup = Setup::new(Mode::External, OnLapse::Refuse)?;
    /// assert_eq!(setup.requests, [1, 1, 1]);
    /// # Ok::<(), idem_runtime::PolicyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the runtime refuses the policy, as with `Refuse` in transactional mode.
    pub fn new(mode: Mode, on_lapse: OnLapse) -> Result<Self, PolicyError> {
        let policy = Policy::new("orders.create")?.on_lapse(on_lapse);
        let terms = policy.terms(mode, &Defaults::default())?;
        let template = template(policy.route().clone(), terms)?;
        Ok(Self { terms, requests: [1; CLIENTS], budget: Budget::NONE, variant: Variant::Sound, template })
    }

    /// The same with so many requests of each client.
    #[must_use]
    pub fn requests(self, requests: [u8; CLIENTS]) -> Self {
        Self { requests, ..self }
    }

    /// The same with so much that may go wrong.
    #[must_use]
    pub fn budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// The same where a recorded failure may be tried again.
    #[must_use]
    pub fn retry_failed(mut self) -> Self {
        self.terms.retry_failed = true;
        self.template.terms = self.terms;
        self
    }

    /// The same with a part broken.
    #[must_use]
    pub fn variant(self, variant: Variant) -> Self {
        Self { variant, ..self }
    }

    pub(crate) fn transactional(&self) -> bool {
        self.terms.mode == Mode::Transactional
    }

    pub(crate) fn recovers(&self) -> bool {
        self.terms.on_lapse == OnLapse::Recover
    }
}

fn template(route: Route, terms: Terms) -> Result<Record, PolicyError> {
    let (scope, key) = (Scope::new("acme", "user-7")?, IdempotencyKey::new("k1")?);
    let zero = Timestamp::from_micros(0);
    Ok(Record {
        key: RecordKey::new(scope, route, key),
        request_hash: String::new(),
        request_fields: None,
        status: Status::Processing,
        token: FencingToken { attempt: 1, claim_id: Uuid::nil() },
        revision: 1,
        answer: None::<Answer>,
        bindings: Bindings::default(),
        locked_until: None,
        expires_at: zero,
        terms,
        outcome_unknown: false,
        released_at: None,
        created_at: zero,
        updated_at: zero,
        completed_at: None,
    })
}
