//! How a handler shows its stance to the type system: by its first argument, or by a wrapper.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::ops::Deref;
use std::pin::Pin;

use axum::extract::{FromRequestParts, Request};
use axum::handler::Handler;
use axum::http::HeaderValue;
use axum::http::request::Parts;
use axum::response::Response;

use crate::axum::answer::STATUS;
use crate::axum::extract::Guarded;
use crate::axum::identity::Asks;
use crate::axum::state::IdempotencyState;
use crate::guard::{Idempotency, Own};
use crate::store::Store;

/// A handler whose stance is declared; the parameter is axum's own marker of a handler's arguments.
#[diagnostic::on_unimplemented(
    message = "this write route does not say whether it is idempotent",
    label = "a retry of this request would run it again",
    note = "annotate the handler: `#[idempotent(route = \"orders.create\")]`, with `idem: Idempotency` as its \
            first parameter",
    note = "or, if it only passes the request on to a guarded service function, take `idem: Delegated` first",
    note = "or say at the route that it may run twice: `post(exempt(\"a login may be repeated\", login))`",
    note = "or that it does not write: `post(read_only(search))`"
)]
pub trait DeclaresStance {
    /// Whether it only passes requests on to guarded functions.
    const DELEGATED: bool;
}

/// A first argument that is a stance.
pub trait Stance {
    /// Whether the handler only passes requests on.
    const DELEGATED: bool;
}

impl<S: Store, K, I> Stance for Guarded<S, K, I> {
    const DELEGATED: bool = false;
}

impl<S: Store, I> Stance for Delegated<S, I> {
    const DELEGATED: bool = true;
}

macro_rules! declares {
    ($($rest:ident)*) => {
        #[diagnostic::do_not_recommend]
        impl<M, First: Stance, $($rest),*> DeclaresStance for (M, First, $($rest,)*) {
            const DELEGATED: bool = First::DELEGATED;
        }
    };
}

declares!();
declares!(T2);
declares!(T2 T3);
declares!(T2 T3 T4);
declares!(T2 T3 T4 T5);
declares!(T2 T3 T4 T5 T6);
declares!(T2 T3 T4 T5 T6 T7);
declares!(T2 T3 T4 T5 T6 T7 T8);
declares!(T2 T3 T4 T5 T6 T7 T8 T9);
declares!(T2 T3 T4 T5 T6 T7 T8 T9 T10);
declares!(T2 T3 T4 T5 T6 T7 T8 T9 T10 T11);
declares!(T2 T3 T4 T5 T6 T7 T8 T9 T10 T11 T12);
declares!(T2 T3 T4 T5 T6 T7 T8 T9 T10 T11 T12 T13);
declares!(T2 T3 T4 T5 T6 T7 T8 T9 T10 T11 T12 T13 T14);
declares!(T2 T3 T4 T5 T6 T7 T8 T9 T10 T11 T12 T13 T14 T15);
declares!(T2 T3 T4 T5 T6 T7 T8 T9 T10 T11 T12 T13 T14 T15 T16);

/// The first argument of a handler that passes the request on to a guarded service function.
///
/// It derefs to `&Idempotency`, whichever identity `I` the route names.
pub struct Delegated<S: Store, I = Own> {
    request: Idempotency<S>,
    identity: PhantomData<fn() -> I>,
}

impl<S: Store, I> fmt::Debug for Delegated<S, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Delegated").field(&self.request).finish()
    }
}

impl<S: Store, I> Deref for Delegated<S, I> {
    type Target = Idempotency<S>;

    fn deref(&self) -> &Idempotency<S> {
        &self.request
    }
}

impl<A, I> FromRequestParts<A> for Delegated<A::Store, I>
where
    A: IdempotencyState + Send + Sync,
    I: Asks<A>,
{
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &A) -> Result<Self, Response> {
        let asked = Idempotency::<A::Store, I>::from_request_parts(parts, state).await?;
        let request = Idempotency::new(asked.guard().clone(), asked.scope().clone(), asked.key().clone());
        Ok(Self { request, identity: PhantomData })
    }
}

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
}

/// A handler that does not write; made by [`read_only`].
#[derive(Debug, Clone)]
pub struct ReadOnly<H>(H);

/// Declares at the route that a retry may run `handler` again.
///
/// # Panics
///
/// When the reason has fewer than 10 characters: it is what a reviewer reads.
///
/// An answer to a request that carries a key says `Idempotency-Status: ignored`.
///
/// ```
/// use idem_runtime::axum::{Router, exempt, post};
///
/// async fn login() -> &'static str { "welcome" }
///
/// let app: Router = Router::new().route("/login", post(exempt("a login may be repeated", login)));
/// ```
pub const fn exempt<H>(reason: &'static str, handler: H) -> Exempt<H> {
    assert!(reason.len() >= 10, "say in at least 10 characters why a retry may run this handler again");
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
