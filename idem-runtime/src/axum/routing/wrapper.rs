//! How a route declares the stance of a handler that cannot say it itself: a closure, a foreign or a plain one.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

use axum::extract::Request;
use axum::handler::Handler;
use axum::http::HeaderValue;
use axum::response::Response;

use crate::axum::answer::STATUS;
use crate::axum::routing::DeclaresStance;
use crate::axum::routing::reason::{is_date, is_reason};

/// A handler that may run again on a retry, and why; made by [`exempt`].
#[derive(Debug, Clone)]
pub struct Exempt<H> {
    handler: H,
    reason: &'static str,
}

impl<H> Exempt<H> {
    /// Why a retry may run it again.
    pub fn reason(&self) -> &'static str {
        self.reason
    }

    /// The last day of the exemption: after it `idem audit` reports the route; nothing changes at run time.
    ///
    /// # Panics
    ///
    /// When `date` is not a day written as `2027-01-31`.
    ///
    /// ```
    /// use idem_runtime::axum::{Router, exempt, post};
    ///
    /// async fn import() -> &'static str { "imported" }
    ///
    /// let import = exempt("the old importer has no keys yet", import).until("2027-01-31");
    /// let app: Router = Router::new().route("/import", post(import));
    /// ```
    #[must_use]
    #[track_caller]
    pub fn until(self, date: &'static str) -> Self {
        assert!(is_date(date), "`until` takes a day: write `.until(\"2027-01-31\")` instead of {date:?}");
        self
    }
}

/// A handler that does not write; made by [`read_only`].
#[derive(Debug, Clone)]
pub struct ReadOnly<H>(H);

/// Declares at the route that a retry may run `handler` again.
///
/// An answer to a request that carries a key says `Idempotency-Status: ignored`. Write the reason as
/// [`reason!`](crate::axum::reason) to have the compiler check it; a plain literal is checked when the route is
/// built, at the start of the program.
///
/// # Panics
///
/// When the reason has fewer than 10 characters: it is what a reviewer reads.
///
/// ```
/// use idem_runtime::axum::{Router, exempt, post};
///
/// async fn login() -> &'static str { "welcome" }
///
/// let app: Router = Router::new().route("/login", post(exempt("a login may be repeated", login)));
/// ```
#[track_caller]
pub const fn exempt<H>(reason: &'static str, handler: H) -> Exempt<H> {
    assert!(
        is_reason(reason),
        "say in at least 10 characters why a retry may run this handler again: \
         `exempt(\"a login may be repeated\", login)`"
    );
    Exempt { handler, reason }
}

/// Declares at the route that `handler` does not write, although its method says so.
///
/// ```
/// use idem_runtime::axum::{Router, post, read_only};
///
/// async fn search() -> &'static str { "[]" }
///
/// let app: Router = Router::new().route("/search", post(read_only(search)));
/// ```
pub const fn read_only<H>(handler: H) -> ReadOnly<H> {
    ReadOnly(handler)
}

/// The marker of a wrapped handler, whose own is `T`.
#[derive(Debug)]
pub struct Wrapped<T>(PhantomData<fn() -> T>);

#[diagnostic::do_not_recommend]
impl<T> DeclaresStance for Wrapped<T> {
    const DELEGATED: bool = false;
}

type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

fn ignoring_keys<H, T, S>(handler: H, request: Request, state: S) -> Answering
where
    H: Handler<T, S>,
    S: Send + 'static,
{
    let keyed = request.headers().contains_key("idempotency-key");
    Box::pin(async move {
        let mut response = handler.call(request, state).await;
        if keyed {
            response.headers_mut().insert(STATUS, HeaderValue::from_static("ignored"));
        }
        response
    })
}

impl<H, T, S> Handler<Wrapped<T>, S> for Exempt<H>
where
    H: Handler<T, S>,
    T: 'static,
    S: Send + 'static,
{
    type Future = Answering;

    fn call(self, request: Request, state: S) -> Answering {
        ignoring_keys(self.handler, request, state)
    }
}

impl<H, T, S> Handler<Wrapped<T>, S> for ReadOnly<H>
where
    H: Handler<T, S>,
    T: 'static,
    S: Send + 'static,
{
    type Future = Answering;

    fn call(self, request: Request, state: S) -> Answering {
        ignoring_keys(self.0, request, state)
    }
}
