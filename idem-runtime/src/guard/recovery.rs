//! After an attempt that stopped half-way: the provider is asked before anything runs again.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::Error;
use crate::guard::Claim;
use crate::store::Store;

/// What a provider knows of the request that an earlier attempt may have sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery<T> {
    /// It was carried out, and this is what the body would have given: it is recorded and replayed.
    Done(T),
    /// It never arrived: the body runs.
    Absent,
    /// Nobody can say: nothing runs until an operator decides.
    Unknown,
}

/// Whether an attempt may still be the second one to reach a provider.
#[derive(Debug)]
pub(super) struct Doubt(AtomicBool);

impl Doubt {
    pub(super) fn new(doubtful: bool) -> Self {
        Self(AtomicBool::new(doubtful))
    }

    /// From here on nobody can say what this attempt did.
    pub(super) fn raise(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(super) fn remains(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

impl<S: Store> Claim<S> {
    /// Asks by `ask` whether an earlier attempt took effect, where the policy says [`OnLapse::Recover`] and such
    /// an attempt has stopped; otherwise `ask` is not polled.
    ///
    /// `Some`: it did, give this value. `None`: run. A body that has not asked, or that was answered
    /// [`Recovery::Unknown`], ends as [`Error::OutcomeUnknown`] whatever it returns, and so does one that panics
    /// while it asks.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use idem_runtime::{sqlite::{Claim, Guard}, Error, IdempotencyKey, Policy, Scope, Success};
    /// use idem_runtime::{DownstreamKey, OnLapse, Recovery};
    ///
    /// async fn find(_key: &DownstreamKey) -> Recovery<String> { Recovery::Absent }
    /// # let pool = sqlx::sqlite::SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await?;
    /// # let guard = Guard::builder(pool).migrate().build().await?;
    /// # let request = guard.request(Scope::new("acme", "user-7")?, IdempotencyKey::new("k1")?).of(&5)?;
    ///
    /// let policy = Policy::new("payments.charge")?.on_lapse(OnLapse::Recover);
    /// guard
    ///     .run_external(&policy, request, async |claim: &Claim| {
    ///         let key = claim.downstream_key("charge");
    ///         let receipt = match claim.recover(find(&key)).await? {
    ///             Some(receipt) => receipt,
    ///             None => "charged".to_string(), // send the charge here, with the key
    ///         };
    ///         Ok::<_, Error>(Success::new(receipt))
    ///     })
    ///     .await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// [`OnLapse::Recover`]: crate::OnLapse::Recover
    ///
    /// # Errors
    ///
    /// [`Error::OutcomeUnknown`] when the answer was [`Recovery::Unknown`]: hand it on.
    pub async fn recover<T>(&self, ask: impl Future<Output = Recovery<T>>) -> Result<Option<T>, Error> {
        if !self.doubt.remains() {
            return Ok(None);
        }
        let done = match ask.await {
            Recovery::Done(value) => Some(value),
            Recovery::Absent => None,
            Recovery::Unknown => return Err(Error::OutcomeUnknown),
        };
        self.doubt.0.store(false, Ordering::SeqCst);
        Ok(done)
    }
}
