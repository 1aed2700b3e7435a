//! The client of the provider, which knows a call by its key.

use std::time::Duration;

use idem_runtime::{DownstreamKey, Recovery};
use reqwest::StatusCode;

use crate::routes::{Effect, Owner, Part};

/// A connection to the provider.
#[derive(Debug, Clone)]
pub(crate) struct Partner {
    http: reqwest::Client,
    calls: String,
}

impl Partner {
    pub(crate) fn new(url: &str) -> reqwest::Result<Self> {
        let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_mins(1)).build()?;
        Ok(Self { http, calls: format!("{url}/calls") })
    }

    /// Has an effect at the provider, or gives the one that an earlier call with this key had.
    pub(crate) async fn call(
        &self,
        key: &DownstreamKey,
        owner: Owner,
        payload: &str,
        part: Part,
    ) -> reqwest::Result<Effect> {
        let effect = Effect { owner, payload: payload.to_owned(), part, token: key.as_str().to_owned() };
        let request = self.http.post(&self.calls).json(&effect);
        request.send().await?.error_for_status()?.json().await
    }

    /// What the provider knows of a call.
    pub(crate) async fn find(&self, key: DownstreamKey) -> Recovery<Effect> {
        match self.look_up(&key).await {
            Ok(Some(effect)) => Recovery::Done(effect),
            Ok(None) => Recovery::Absent,
            Err(_) => Recovery::Unknown,
        }
    }

    async fn look_up(&self, key: &DownstreamKey) -> reqwest::Result<Option<Effect>> {
        let response = self.http.get(format!("{}/{key}", self.calls)).send().await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        response.error_for_status()?.json().await.map(Some)
    }
}
