//! What the code that `#[idempotent]` generates for a handler calls.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use tracing::Instrument;

use crate::axum::answer;
use crate::axum::extract::{Guarded, ReceivedBytes};
use crate::error::Error;
use crate::guard::{
    Begun, Call, Claim, IdempotencyMutationGuard, Inner, Ran, Request, Verdict, run_in_transaction,
    run_outside,
};
use crate::key::IdempotencyKey;
use crate::mutation::Mutation;
use crate::policy::{Mode, Policy};
use crate::record::Bindings;
use crate::store::Store;

/// What a handler's attribute declares, besides its policy.
#[derive(Debug, Clone, Copy)]
pub struct Declared {
    /// JSON pointers that are not part of the fingerprint.
    pub ignore: &'static [&'static str],
}

/// The verdict of one run of a handler.
pub type HandlerVerdict = Verdict<Response, Response>;

/// What a handler's body came to, before its response is read.
#[derive(Debug)]
pub struct Returned {
    /// The response of the body.
    pub response: Response,
    /// Whether the body returned an `Err`, whatever status that has.
    pub is_err: bool,
    /// Whether the error is one after which the claim is given back.
    pub release: bool,
    /// What `bind` found in the value.
    pub bindings: Bindings,
}

/// Reads the response that a body returned and judges it; runs before the commit.
pub async fn judge<S: Store>(
    guard: IdempotencyMutationGuard<S>,
    returned: Returned,
    headers: &'static [&'static str],
) -> HandlerVerdict {
    let Returned { response, is_err, release, bindings } = returned;
    if release {
        return Verdict::Released { error: response };
    }
    let status = response.status();
    let failed = is_err || status.is_client_error() || status.is_server_error();
    match answer::keep(response, headers, |answer| guard.fits(answer)).await {
        Ok((response, answer)) if failed => Verdict::Failed { error: response, answer: Some(answer) },
        Ok((response, answer)) => Verdict::Succeeded { value: response, answer, bindings },
        // A failure is a failure whether or not its answer can be kept.
        Err(lost) if failed => {
            let reason = lost.reason;
            let response =
                lost.response.unwrap_or_else(|| Error::AnswerNotRecordable { reason }.into_response());
            Verdict::Failed { error: response, answer: None }
        }
        Err(lost) => Verdict::NotRecordable { reason: lost.reason },
    }
}

fn call<S: Store, K, I>(
    idem: &Guarded<S, K, I>,
    policy: &Policy,
    mode: Mode,
    declared: &Declared,
    received: &ReceivedBytes,
    key: Option<IdempotencyKey>,
) -> Result<(Call, Begun), Error> {
    let key = match key.or_else(|| idem.key.clone()) {
        Some(key) => key,
        // Nobody can send it, so the request is linked to no other.
        None => IdempotencyKey::derived("unkeyed", &[uuid::Uuid::new_v4().to_string().as_str()]),
    };
    let fingerprint = idem.fingerprint(received, declared.ignore)?;
    let request = Request::new(idem.scope.clone(), key, fingerprint);
    let begun = Begun::default();
    Ok((Call::new(&idem.guard.0, policy, mode, request)?.of_handler(begun.clone()), begun))
}

// Bodies are boxed, so that everything around them is compiled once and not for each handler.
type TransactionBody<S> =
    Box<dyn for<'a> FnOnce(&'a mut Mutation<S>) -> BoxFuture<'a, HandlerVerdict> + Send>;
type ExternalBody<S> = Box<dyn for<'a> FnOnce(&'a Claim<S>) -> BoxFuture<'a, HandlerVerdict> + Send>;

/// Runs a handler's body at most once in a transaction.
pub fn run<S: Store, K, I>(
    idem: Guarded<S, K, I>,
    policy: &'static Policy,
    declared: Declared,
    received: &ReceivedBytes,
    key: Option<IdempotencyKey>,
    body: impl for<'a> FnOnce(&'a mut Mutation<S>) -> BoxFuture<'a, HandlerVerdict> + Send + 'static,
) -> BoxFuture<'static, Response> {
    let call = call(&idem, policy, Mode::Transactional, &declared, received, key);
    in_transaction(idem.guard, call, Box::new(body))
}

/// Runs a handler's body at most once without a transaction.
pub fn run_external<S: Store, K, I>(
    idem: Guarded<S, K, I>,
    policy: &'static Policy,
    declared: Declared,
    received: &ReceivedBytes,
    key: Option<IdempotencyKey>,
    body: impl for<'a> FnOnce(&'a Claim<S>) -> BoxFuture<'a, HandlerVerdict> + Send + 'static,
) -> BoxFuture<'static, Response> {
    let call = call(&idem, policy, Mode::External, &declared, received, key);
    outside(idem.guard, call, Box::new(body))
}

fn in_transaction<S: Store>(
    guard: IdempotencyMutationGuard<S>,
    call: Result<(Call, Begun), Error>,
    body: TransactionBody<S>,
) -> BoxFuture<'static, Response> {
    detached(guard, call, move |inner, call| {
        let body = async move |mutation: &mut Mutation<S>| body(mutation).await;
        run_in_transaction(inner, call, body, std::convert::identity)
    })
}

fn outside<S: Store>(
    guard: IdempotencyMutationGuard<S>,
    call: Result<(Call, Begun), Error>,
    body: ExternalBody<S>,
) -> BoxFuture<'static, Response> {
    detached(guard, call, move |inner, call| {
        let body = async move |claim: &Claim<S>| body(claim).await;
        run_outside(inner, call, body, std::convert::identity)
    })
}

/// The answer to `call` by `work`, which goes on without its client once it has begun.
fn detached<S: Store, W>(
    guard: IdempotencyMutationGuard<S>,
    call: Result<(Call, Begun), Error>,
    work: impl FnOnce(Arc<Inner<S>>, Call) -> W + Send + 'static,
) -> BoxFuture<'static, Response>
where
    W: Future<Output = Result<Ran<Response, Response>, Error>> + Send + 'static,
{
    Box::pin(async move {
        let (call, begun) = match call {
            Ok(call) => call,
            Err(error) => return error.into_response(),
        };
        let work = work(Arc::clone(&guard.0), call);
        answered(guard.detached(begun, work.in_current_span()).await.flatten())
    })
}

fn answered(ran: Result<Ran<Response, Response>, Error>) -> Response {
    match ran {
        Err(error) => error.into_response(),
        Ok(
            Ran::First { value: mut response, expires_at, .. }
            | Ran::Failed { error: mut response, expires_at },
        ) => {
            if let Some(expires_at) = expires_at {
                answer::set_expiry(response.headers_mut(), expires_at);
            }
            response
        }
        Ok(Ran::Recorded(record)) => answer::replay(*record).unwrap_or_else(|| {
            Error::ReplayUnreadable { reason: "it has no status that HTTP knows".to_owned() }.into_response()
        }),
    }
}
