//! How many new records each user may begin in a span of time, in this process.
//!
//! It counts in memory: counting the rows of a user at each claim would cost a read that grows with their number.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::error::Error;
use crate::guard::Inner;
use crate::guard::claim::{Call, Claimed};
use crate::guard::unavailable;
use crate::key::{RecordKey, Scope};
use crate::store::Store;

/// A rate for each user: `burst` at once, and from then on one after each `interval`.
///
/// Of each user it keeps one moment, at which the allowance is whole again (the generic cell rate algorithm).
#[derive(Debug)]
pub(super) struct Allowance {
    interval: Duration,
    burst: Duration,
    whole_again: Mutex<Users>,
}

#[derive(Debug)]
struct Users {
    at: HashMap<Scope, Instant>,
    /// So many are kept before those are dropped whose allowance is whole.
    most: usize,
}

/// Fewer users than this are kept without looking which of them could go.
const FEW: usize = 1024;

impl Allowance {
    /// `records` in `span`; at least one, in at least a microsecond each.
    pub(super) fn new(records: u32, span: Duration) -> Self {
        let interval = (span / records.max(1)).max(Duration::from_micros(1));
        let users = Users { at: HashMap::new(), most: FEW };
        Self { interval, burst: interval * records.saturating_sub(1), whole_again: Mutex::new(users) }
    }

    /// Takes one, or says when there is one to take.
    fn take(&self, scope: &Scope, now: Instant) -> Result<(), Duration> {
        let mut users = self.users();
        let at = users.at.get(scope).map_or(now, |at| (*at).max(now));
        let over = (at - now).saturating_sub(self.burst);
        if !over.is_zero() {
            return Err(over);
        }
        if users.at.len() >= users.most {
            users.at.retain(|_, at| *at > now);
            users.most = (users.at.len() * 2).max(FEW);
        }
        match users.at.get_mut(scope) {
            Some(kept) => *kept = at + self.interval,
            None => drop(users.at.insert(scope.clone(), at + self.interval)),
        }
        Ok(())
    }

    /// Gives back what was taken for a request that made no record.
    fn give_back(&self, scope: &Scope) {
        if let Some(at) = self.users().at.get_mut(scope)
            && let Some(earlier) = at.checked_sub(self.interval)
        {
            *at = earlier;
        }
    }

    fn users(&self) -> MutexGuard<'_, Users> {
        // The map stays whole whoever panics while holding it.
        self.whole_again.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a client asks for it: outbox handlers and operations inside others belong to what was let through.
fn is_limited(key: &RecordKey) -> bool {
    !key.route().is_outbox() && !key.key().is_child()
}

impl<S: Store> Inner<S> {
    /// Claims, unless that made one record too many of this user: what has a record gets what that says.
    pub(super) async fn claim_as_allowed(self: &Arc<Self>, call: Arc<Call>) -> Result<Claimed<S>, Error> {
        let key = call.claim.key.clone();
        let Some(allowance) = self.allowance.as_ref().filter(|_| is_limited(&key)) else {
            return self.claim(call).await;
        };
        if let Err(retry_after) = allowance.take(key.scope(), Instant::now()) {
            return match self.look(&key).await.map_err(unavailable)? {
                Some(_) => self.claim(call).await,
                None => Err(Error::TooManyRequests { retry_after }),
            };
        }
        let claimed = self.claim(call).await;
        if !matches!(&claimed, Ok(Claimed::Held(held)) if held.token().attempt == 1) {
            allowance.give_back(key.scope());
        }
        claimed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn user(name: &str) -> Scope {
        Scope::new("acme", name).unwrap()
    }

    #[test]
    fn a_user_gets_the_burst_at_once_and_then_the_rate() {
        let (allowance, now) = (Allowance::new(3, SECOND * 30), Instant::now());
        for _ in 0..3 {
            allowance.take(&user("ann"), now).unwrap();
        }
        assert_eq!(allowance.take(&user("ann"), now), Err(SECOND * 10));
        allowance.take(&user("bob"), now).unwrap();
        allowance.take(&user("ann"), now + SECOND * 10).unwrap();
        assert_eq!(allowance.take(&user("ann"), now + SECOND * 10), Err(SECOND * 10));
    }

    #[test]
    fn what_is_given_back_can_be_taken_again() {
        let (allowance, now) = (Allowance::new(1, SECOND), Instant::now());
        for _ in 0..5 {
            allowance.take(&user("ann"), now).unwrap();
            allowance.give_back(&user("ann"));
        }
        allowance.take(&user("ann"), now).unwrap();
        assert!(allowance.take(&user("ann"), now).is_err());
    }

    #[test]
    fn users_whose_allowance_is_whole_are_forgotten() {
        let (allowance, now) = (Allowance::new(1, SECOND), Instant::now());
        for number in 0..u32::try_from(FEW * 4).unwrap() {
            allowance.take(&user(&number.to_string()), now + SECOND * 2 * number).unwrap();
        }
        assert!(allowance.users().at.len() <= FEW, "{}", allowance.users().at.len());
    }

    /// Takes one for each of as many users as are kept without looking.
    fn full(allowance: &Allowance, now: Instant) {
        for number in 0..FEW {
            allowance.take(&user(&number.to_string()), now).unwrap();
        }
        assert_eq!(allowance.users().at.len(), FEW);
    }

    #[test]
    fn a_user_who_has_used_up_the_allowance_is_never_forgotten() {
        let (allowance, now) = (Allowance::new(1, SECOND), Instant::now());
        full(&allowance, now);
        allowance.take(&user("ann"), now).unwrap();
        assert_eq!(allowance.take(&user("0"), now), Err(SECOND));
        assert_eq!(allowance.users().at.len(), FEW + 1);
        // As long as they are too many to drop, they are not looked through at each request.
        assert_eq!(allowance.users().most, FEW * 2);
    }

    #[test]
    fn a_user_is_forgotten_at_the_moment_when_the_allowance_is_whole() {
        let (allowance, now) = (Allowance::new(1, SECOND), Instant::now());
        full(&allowance, now);
        allowance.take(&user("ann"), now + SECOND).unwrap();
        assert_eq!(allowance.users().at.len(), 1);
    }

    #[test]
    fn few_users_are_kept_without_looking() {
        let (allowance, now) = (Allowance::new(1, SECOND), Instant::now());
        allowance.take(&user("ann"), now).unwrap();
        allowance.take(&user("bob"), now + SECOND * 10).unwrap();
        assert_eq!(allowance.users().at.len(), 2);
    }
}
