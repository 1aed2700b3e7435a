//! What can go wrong: in the shop, and in the demo that watches it.

/// An error of the shop. A guarded function's error has to be made from [`idem_runtime::Error`].
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    /// The guard refused: in progress, conflict, no store, ...
    #[error(transparent)]
    Guard(#[from] idem_runtime::Error),
    /// A statement of ours failed.
    #[error("the shop's database failed")]
    Database(#[from] sqlx::Error),
    /// An answer cannot be written down.
    #[error("the answer cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    /// The payment provider said no.
    #[error("the card was declined")]
    Declined,
}

/// Why the demo failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DemoError {
    /// Something else came than the step promises.
    #[error("{at}: did not expect {came}")]
    Unexpected { at: &'static str, came: String },
    #[error("something happened twice")]
    DoubleEffects,
    #[error("a worker ended, or failed at its end")]
    WorkerEnded,
    #[error("a worker said nothing for too long")]
    TooSlow,
    #[error("a worker cannot be reached")]
    Process(#[from] std::io::Error),
    #[error("a line of a worker is not one of its messages")]
    Line(#[from] serde_json::Error),
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    #[error("the guard cannot be built")]
    Build(#[from] idem_runtime::BuildError),
    #[error(transparent)]
    Guard(#[from] idem_runtime::Error),
}

impl DemoError {
    pub(crate) fn unexpected(at: &'static str, came: impl std::fmt::Debug) -> Self {
        Self::Unexpected { at, came: format!("{came:?}") }
    }
}
