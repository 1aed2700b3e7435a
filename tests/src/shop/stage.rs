//! Where a request stands still, and how a test learns that it has come there.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use tokio::sync::watch;

/// A place on the way of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The head of a request has arrived.
    Arrived,
    /// In the body of the handler, after its effect.
    Body,
    /// After the body: the guard reads the answer in order to record it.
    Recording,
    /// The guard has given the answer, which is not sent yet.
    Recorded,
    /// The answer is about to be sent.
    Answered,
    /// The connection is no longer interested: the future of the request was dropped.
    Gone,
}

impl Place {
    /// The word for it, in `x-stop` and in the output of the process.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Arrived => "arrived",
            Self::Body => "body",
            Self::Recording => "recording",
            Self::Recorded => "recorded",
            Self::Answered => "answered",
            Self::Gone => "gone",
        }
    }
}

/// The places that were reached, and the gate at which requests stand still until it is opened for all.
#[derive(Debug)]
pub struct Stage {
    reached: watch::Sender<Vec<Place>>,
    open: watch::Sender<bool>,
}

impl Default for Stage {
    fn default() -> Self {
        Self { reached: watch::Sender::new(Vec::new()), open: watch::Sender::new(false) }
    }
}

impl Stage {
    /// Lets go on whoever stands still, now and later.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// Stops whoever comes from now on.
    pub fn close(&self) {
        self.open.send_replace(false);
    }

    /// Waits until `place` was reached `times` times in all.
    pub async fn reached(&self, place: Place, times: usize) {
        let count = |reached: &Vec<Place>| reached.iter().filter(|one| **one == place).count();
        // The sender lives in `self`, so the wait ends by the place alone.
        let _ = self.reached.subscribe().wait_for(|reached| count(reached) >= times).await;
    }

    /// How often `place` was reached.
    #[must_use]
    pub fn count(&self, place: Place) -> usize {
        self.reached.borrow().iter().filter(|one| **one == place).count()
    }

    /// Every place in order, for as long as somebody listens.
    pub async fn report(&self, mut to: impl FnMut(Place)) {
        let mut reached = self.reached.subscribe();
        let mut told = 0;
        while let Ok(places) = reached.wait_for(|places| places.len() > told).await {
            let new = places[told..].to_vec();
            drop(places);
            told += new.len();
            new.into_iter().for_each(&mut to);
        }
    }

    /// Says that `place` was reached.
    pub fn reach(&self, place: Place) {
        self.reached.send_modify(|reached| reached.push(place));
    }

    /// Says that `place` was reached, and waits for the gate.
    pub async fn stand(&self, place: Place) {
        self.reach(place);
        let _ = self.open.subscribe().wait_for(|open| *open).await;
    }
}

/// Where this request is told to stand still; no part of its fingerprint, as it is a header.
#[derive(Debug, Clone)]
pub struct Stop(String);

impl Stop {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let place = headers.get("x-stop").and_then(|value| value.to_str().ok());
        Self(place.unwrap_or_default().to_owned())
    }

    /// Whether it is told to stand still at `place`.
    #[must_use]
    pub fn is_at(&self, place: Place) -> bool {
        self.0 == place.name()
    }

    /// Stands still at `place` if it is told to.
    pub async fn at(&self, place: Place, stage: &Stage) {
        if self.is_at(place) {
            stage.stand(place).await;
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Stop {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.headers))
    }
}
