//! How a handler shows its stance to the type system: by its first argument.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::Response;

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
