//! Why a demo failed.

/// Something that a demo did not expect.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// Something else came than the step promises.
    #[error("{at}: did not expect {came}")]
    Unexpected {
        /// The step.
        at: String,
        /// What came.
        came: String,
    },
    /// An effect was there twice.
    #[error("something happened twice")]
    DoubleEffects,
    /// The service went away.
    #[error("the service ended before it said {0:?}")]
    ServiceEnded(&'static str),
    /// A process or a file could not be handled.
    #[error("the system refused")]
    System(#[from] std::io::Error),
    /// The service could not be reached, or its answer broke off.
    #[error("the service did not answer")]
    Http(#[from] reqwest::Error),
    /// The demo's own look into the database failed.
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
}

impl DemoError {
    /// What `came` is not what the step `at` promises.
    pub fn unexpected(at: impl Into<String>, came: impl std::fmt::Debug) -> Self {
        Self::Unexpected { at: at.into(), came: format!("{came:?}") }
    }

    /// An error unless `holds`.
    pub fn unless(holds: bool, at: impl Into<String>, came: impl std::fmt::Debug) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::unexpected(at, came)) }
    }
}
