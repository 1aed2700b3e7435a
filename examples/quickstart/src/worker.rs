//! A worker process: answers each call it reads, all of them at the same time.

use std::error::Error;
use std::time::Duration;

use idem_runtime::{IdempotencyKey, IdempotencyMutationGuard, Outcome, Scope};
use serde::Serialize;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::database::ShopDatabase;
use crate::error::AppError;
use crate::orders::create_order;
use crate::payments::{Provider, pay};
use crate::protocol::{Answer, Body, Call, Done, Message, say};

/// Answers calls until the standard input ends.
pub(crate) async fn run<D: ShopDatabase>(url: &str) -> Result<(), Box<dyn Error>> {
    let guard = IdempotencyMutationGuard::builder(D::open(url).await?).build().await?;
    let provider = Provider::new(D::open(url).await?);
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    say(&Message::Ready);
    while let Some(line) = lines.next_line().await? {
        let call: Call = serde_json::from_str(&line)?;
        let (guard, provider) = (guard.clone(), provider.clone());
        tokio::spawn(async move { say(&Message::Answer(answer(guard, provider, call).await)) });
    }
    // What callers left behind is settled before the process ends.
    guard.drain(Duration::from_secs(5)).await;
    Ok(())
}

async fn answer<D: ShopDatabase>(
    guard: IdempotencyMutationGuard<D>,
    provider: Provider<D>,
    call: Call,
) -> Answer {
    match carry_out(guard, provider, call).await {
        Ok(done) => Answer::Done(done),
        Err(AppError::Guard(idem_runtime::Error::InProgress { retry_after })) => {
            Answer::InProgress { retry_after }
        }
        Err(AppError::Guard(idem_runtime::Error::Conflict { .. })) => Answer::Conflict,
        Err(error) => Answer::Failed { reason: crate::with_causes(&error) },
    }
}

async fn carry_out<D: ShopDatabase>(
    guard: IdempotencyMutationGuard<D>,
    provider: Provider<D>,
    call: Call,
) -> Result<Done, AppError> {
    let scope = Scope::new(call.tenant, call.user).map_err(idem_runtime::Error::from)?;
    let key = IdempotencyKey::new(call.idempotency_key).map_err(idem_runtime::Error::from)?;
    let idem = guard.request(scope, key);
    match call.body {
        Body::CreateOrder(order) => done(&create_order(idem, order, call.stall).await?),
        Body::Pay(payment) => done(&pay(idem, provider, payment).await?),
    }
}

fn done<T: Serialize>(outcome: &Outcome<T>) -> Result<Done, AppError> {
    Ok(Done {
        value: serde_json::to_value(outcome.value())?,
        task_id: outcome.task_id().map(str::to_owned),
        replayed: outcome.is_replay(),
        attempt: outcome.attempt(),
    })
}
