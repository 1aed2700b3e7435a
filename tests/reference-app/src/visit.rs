//! One request in the eyes of the driver: its case and its route, by which everything is counted.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, MatchedPath};
use axum::http::request::Parts;

use crate::app::App;
use crate::business::{Business, NewRow};

/// Read from the head alone, so that `X-Case` is in no fingerprint.
#[derive(Debug)]
pub(crate) struct Visit<D: Business> {
    app: App<D>,
    case: String,
    route: String,
}

impl<D: Business> FromRequestParts<App<D>> for Visit<D> {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App<D>) -> Result<Self, Infallible> {
        let path = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
        Ok(Self {
            case: text_of(parts, "x-case").unwrap_or_default(),
            route: format!("{} {path}", parts.method),
            app: app.clone(),
        })
    }
}

impl<D: Business> Visit<D> {
    /// Counts an entry into the body; the first thing that every body does.
    pub(crate) async fn enter(&self) -> sqlx::Result<()> {
        D::enter(&self.app.entries, &self.case, &self.route).await
    }

    /// A row of this visit.
    pub(crate) fn row<'a>(&'a self, subject: &'a str, content: &'a str) -> NewRow<'a> {
        NewRow { case: &self.case, route: &self.route, subject, content, downstream_key: None }
    }
}

/// The text of a header that is there once and not empty.
pub(crate) fn text_of(parts: &Parts, name: &str) -> Option<String> {
    let text = parts.headers.get(name)?.to_str().ok()?;
    (!text.is_empty()).then(|| text.to_owned())
}
