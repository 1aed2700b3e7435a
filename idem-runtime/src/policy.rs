//! What a route declares about itself: how long things last and what a failure or a crash means.

use std::time::Duration;

use crate::key::{KeyError, Route};

/// Where the effects of the body go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Into our own database, in one transaction with the record.
    Transactional,
    /// To somebody else: a payment provider, a mail server.
    External,
}

/// What the next request may do after an external attempt stopped without an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnLapse {
    /// Run again; the provider recognises the repetition by the derived key.
    #[default]
    Rerun,
    /// Ask the provider first, by the derived key.
    Recover,
    /// Never run again until an operator has decided.
    Refuse,
}

impl Mode {
    /// The word that stands in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transactional => "transactional",
            Self::External => "external",
        }
    }
}

impl OnLapse {
    /// The word that stands in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rerun => "rerun",
            Self::Recover => "recover",
            Self::Refuse => "refuse",
        }
    }

    /// The stricter of two: what a record was promised is not loosened by newer code, nor the reverse.
    #[must_use]
    pub(crate) fn stricter(self, other: Self) -> Self {
        match (self, other) {
            (Self::Refuse, _) | (_, Self::Refuse) => Self::Refuse,
            (Self::Recover, _) | (_, Self::Recover) => Self::Recover,
            (Self::Rerun, Self::Rerun) => Self::Rerun,
        }
    }
}

/// The options of a route as they are written into each record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Where the effects go.
    pub mode: Mode,
    /// What a lapsed external attempt means.
    pub on_lapse: OnLapse,
    /// Whether a recorded failure may be tried again with the same key.
    pub retry_failed: bool,
    /// How long the answer is kept, counted from completion.
    pub ttl: Duration,
    /// How long an attempt owns its record without renewal.
    pub lease: Duration,
    /// How long a duplicate waits for the first attempt before it is told `in progress`.
    pub wait: Duration,
    /// How long an attempt may renew its lease.
    pub max_run: Duration,
}

/// A policy that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The name of the route cannot be used.
    #[error(transparent)]
    Route(#[from] KeyError),
    /// A duration is zero, or finer than a millisecond.
    #[error("{option} is {value:?}: give at least one millisecond")]
    TooShort {
        /// The option's name.
        option: &'static str,
        /// What was given.
        value: Duration,
    },
    /// A duration is over ten years.
    #[error("{option} is {value:?}: give at most ten years")]
    TooLong {
        /// The option's name.
        option: &'static str,
        /// What was given.
        value: Duration,
    },
    /// The record would end before the attempt that it protects.
    #[error("ttl ({ttl:?}) must be longer than lease ({lease:?}): raise ttl or shorten lease")]
    TtlWithinLease {
        /// The life of the record.
        ttl: Duration,
        /// The lease of an attempt.
        lease: Duration,
    },
    /// An attempt may run shorter than its first lease.
    #[error("max_run ({max_run:?}) must be at least as long as lease ({lease:?})")]
    MaxRunWithinLease {
        /// The longest run.
        max_run: Duration,
        /// The lease of an attempt.
        lease: Duration,
    },
    /// `on_lapse` was said for a route whose crash leaves nothing behind.
    #[error("on_lapse is for external mode: a transactional attempt that stops has no effects, remove it")]
    OnLapseInTransaction,
}

const TEN_YEARS: Duration = Duration::from_hours(10 * 366 * 24);

/// The declaration of one route.
///
/// ```
/// use std::time::Duration;
/// use idem_runtime::Policy;
///
/// let policy = Policy::new("orders.create")?.retry_failed(true).ttl(Duration::from_secs(3600));
/// assert_eq!(policy.route().as_str(), "orders.create");
/// # Ok::<(), idem_runtime::PolicyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    route: Route,
    retry_failed: bool,
    on_lapse: OnLapse,
    ttl: Option<Duration>,
    lease: Option<Duration>,
    wait: Duration,
    max_run: Option<Duration>,
}

impl Policy {
    /// The policy of the route `name`; what is not said is taken from the guard's defaults.
    pub fn new(name: impl Into<String>) -> Result<Self, PolicyError> {
        Ok(Self::of(Route::new(name)?))
    }

    /// The policy of a route that is already checked, such as [`Route::outbox`].
    #[must_use]
    pub fn of(route: Route) -> Self {
        Self {
            route,
            retry_failed: false,
            on_lapse: OnLapse::Rerun,
            ttl: None,
            lease: None,
            wait: Duration::ZERO,
            max_run: None,
        }
    }

    /// Whether the same key may run again after a recorded failure; off unless said.
    #[must_use]
    pub fn retry_failed(mut self, retry_failed: bool) -> Self {
        self.retry_failed = retry_failed;
        self
    }

    /// What a lapsed external attempt means; [`OnLapse::Rerun`] unless said.
    #[must_use]
    pub fn on_lapse(mut self, on_lapse: OnLapse) -> Self {
        self.on_lapse = on_lapse;
        self
    }

    /// How long the answer is kept, counted from completion.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// How long an attempt owns its record without renewal.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = Some(lease);
        self
    }

    /// How long a duplicate waits for the first attempt; zero (the default) answers at once.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// How long an attempt may renew its lease.
    #[must_use]
    pub fn max_run(mut self, max_run: Duration) -> Self {
        self.max_run = Some(max_run);
        self
    }

    /// The operation that this policy is for.
    #[must_use]
    pub fn route(&self) -> &Route {
        &self.route
    }

    /// The complete terms of this route in `mode`, with `defaults` where nothing was said.
    pub fn terms(&self, mode: Mode, defaults: &Defaults) -> Result<Terms, PolicyError> {
        let lease = self.lease.unwrap_or(defaults.lease);
        let terms = Terms {
            mode,
            on_lapse: self.on_lapse,
            retry_failed: self.retry_failed,
            ttl: self.ttl.unwrap_or(defaults.ttl),
            lease,
            wait: self.wait,
            max_run: self.max_run.unwrap_or(defaults.max_run.max(lease)),
        };
        terms.check()?;
        Ok(terms)
    }
}

impl Terms {
    fn check(&self) -> Result<(), PolicyError> {
        for (option, value) in [("ttl", self.ttl), ("lease", self.lease), ("max_run", self.max_run)] {
            if value < Duration::from_millis(1) {
                return Err(PolicyError::TooShort { option, value });
            }
        }
        let all = [("ttl", self.ttl), ("lease", self.lease), ("max_run", self.max_run), ("wait", self.wait)];
        for (option, value) in all {
            if value > TEN_YEARS {
                return Err(PolicyError::TooLong { option, value });
            }
        }
        if self.ttl <= self.lease {
            return Err(PolicyError::TtlWithinLease { ttl: self.ttl, lease: self.lease });
        }
        if self.max_run < self.lease {
            return Err(PolicyError::MaxRunWithinLease { max_run: self.max_run, lease: self.lease });
        }
        if self.mode == Mode::Transactional && self.on_lapse != OnLapse::Rerun {
            return Err(PolicyError::OnLapseInTransaction);
        }
        Ok(())
    }
}

/// What a guard assumes where a policy says nothing.
///
/// ```
/// use std::time::Duration;
/// use idem_runtime::Defaults;
///
/// let defaults = Defaults { ttl: Duration::from_secs(7 * 24 * 3600), ..Defaults::default() };
/// assert_eq!(defaults.lease, Duration::from_secs(30));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Defaults {
    /// 24 hours.
    pub ttl: Duration,
    /// 30 seconds.
    pub lease: Duration,
    /// 15 minutes.
    pub max_run: Duration,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            ttl: Duration::from_hours(24),
            lease: Duration::from_secs(30),
            max_run: Duration::from_mins(15),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(policy: &Policy, mode: Mode) -> Result<Terms, PolicyError> {
        policy.terms(mode, &Defaults::default())
    }

    fn policy() -> Policy {
        Policy::new("orders.create").unwrap()
    }

    #[test]
    fn the_defaults_are_a_day_half_a_minute_and_a_quarter_of_an_hour() {
        let terms = terms(&policy(), Mode::Transactional).unwrap();
        assert_eq!(terms.ttl, Duration::from_hours(24));
        assert_eq!(terms.lease, Duration::from_secs(30));
        assert_eq!(terms.max_run, Duration::from_mins(15));
        assert_eq!(terms.wait, Duration::ZERO);
        assert!(!terms.retry_failed);
    }

    #[test]
    fn a_ttl_that_does_not_outlive_the_lease_is_refused() {
        let second = Duration::from_secs(1);
        let refused = terms(&policy().ttl(second).lease(second), Mode::External);
        assert!(matches!(refused, Err(PolicyError::TtlWithinLease { .. })));
    }

    #[test]
    fn a_zero_is_a_value_and_is_refused() {
        let refused = terms(&policy().lease(Duration::ZERO), Mode::External);
        assert!(matches!(refused, Err(PolicyError::TooShort { option: "lease", .. })));
    }

    #[test]
    fn a_millisecond_is_long_enough_and_ten_years_are_not_too_long() {
        let least = Duration::from_millis(1);
        assert!(terms(&policy().lease(least), Mode::External).is_ok());
        assert!(terms(&policy().ttl(TEN_YEARS), Mode::External).is_ok());
        let more = [TEN_YEARS + Duration::from_nanos(1), TEN_YEARS * 2];
        for span in more {
            let refused = terms(&policy().ttl(span), Mode::External);
            assert!(matches!(refused, Err(PolicyError::TooLong { option: "ttl", .. })), "{span:?}");
        }
        assert!((3652..3670).contains(&(TEN_YEARS.as_secs() / 86_400)));
    }

    #[test]
    fn on_lapse_is_refused_where_a_crash_has_no_effects() {
        let refuse = policy().on_lapse(OnLapse::Refuse);
        assert_eq!(terms(&refuse, Mode::Transactional), Err(PolicyError::OnLapseInTransaction));
        assert!(terms(&refuse, Mode::External).is_ok());
    }

    #[test]
    fn a_long_lease_raises_the_default_of_max_run() {
        let hour = Duration::from_hours(1);
        assert_eq!(terms(&policy().lease(hour), Mode::External).unwrap().max_run, hour);
    }
}
