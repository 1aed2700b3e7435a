//! Plays a client that repeats itself, and shows what it gets.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use futures_util::future::{join, join_all};
use idem_runtime::IdempotencyMutationGuard;

use crate::client::{Call, Client};
use crate::database::{Rows, ShopDatabase};
use crate::error::DemoError;
use crate::payments::DECLINED_ONCE;
use crate::process::Service;

/// How many duplicates of the first order are sent at once.
const DUPLICATES: usize = 50;
/// The pause before an order is asked for again.
const PAUSE: Duration = Duration::from_millis(200);
/// Nothing here takes this long; without an end a defect would look like a slow machine.
const TOO_LONG: Duration = Duration::from_mins(1);

/// Prepares the database, plays all steps and prints the result as the last line.
pub(crate) async fn run<D: ShopDatabase>(url: &str) -> Result<(), DemoError> {
    let guard = IdempotencyMutationGuard::builder(D::open(url).await?).migrate().build().await?;
    D::create_tables(guard.pool()).await?;
    let mut demo = Demo { url, service: Service::start(url).await?, client: Client::new(guard) };
    let (id, authority) = (demo.service.id(), &demo.service.authority);
    println!("{}, process {id} on http://{authority}\n", D::NAME);
    let played = tokio::time::timeout(TOO_LONG, demo.play()).await;
    let summary = demo.client.summary().await?;
    println!("{summary}");
    played.unwrap_or_else(|_| Err(DemoError::unexpected("the demo", "a pause of a minute")))?;
    summary.verdict()
}

struct Demo<'a, D: ShopDatabase> {
    url: &'a str,
    service: Service,
    client: Client<D>,
}

impl<D: ShopDatabase> Demo<'_, D> {
    async fn play(&mut self) -> Result<(), DemoError> {
        let order = books("order-1", 1);
        self.send_many_at_once(&order).await?;
        self.send_again(&order).await?;
        self.send_another_body(&order).await?;
        self.pay_after_a_decline().await?;
        self.kill_the_service_in(&books("order-2", 2)).await
    }

    async fn send_many_at_once(&self, order: &Call) -> Result<(), DemoError> {
        let sent = (0..DUPLICATES).map(|_| self.client.send(&self.service.authority, order));
        let (mut first, mut replayed, mut in_progress) = (0, 0, 0);
        for answer in join_all(sent).await {
            match answer? {
                answer if answer.replayed => replayed += 1,
                answer if answer.status == StatusCode::CREATED => first += 1,
                answer if answer.is("IDEMPOTENCY_IN_PROGRESS") => in_progress += 1,
                other => return Err(DemoError::unexpected("a duplicate", other)),
            }
        }
        let came = format!("{first} first, {replayed} replayed, {in_progress} in progress");
        show("1", &format!("the same order {DUPLICATES} times at once"), &came);
        self.client.expect_rows(order, Rows::ONE_ORDER).await?;
        if first == 1 { Ok(()) } else { Err(DemoError::unexpected("duplicates", came)) }
    }

    async fn send_again(&self, order: &Call) -> Result<(), DemoError> {
        let answer = self.client.send(&self.service.authority, order).await?;
        if !answer.replayed || answer.status != StatusCode::CREATED {
            return Err(DemoError::unexpected("a retry", answer));
        }
        let (id, task) = (answer.member("id"), answer.member("task_id"));
        show("2", "the order again", &format!("replayed: order {id}, task {task}"));
        Ok(())
    }

    async fn send_another_body(&self, order: &Call) -> Result<(), DemoError> {
        let other = Call { json: books("order-1", 7).json, ..order.clone() };
        let answer = self.client.send(&self.service.authority, &other).await?;
        if !answer.is("IDEMPOTENCY_KEY_CONFLICT") {
            return Err(DemoError::unexpected("another order with the same key", answer));
        }
        show("3", "its key with another quantity", "422, nothing done");
        self.client.expect_rows(order, Rows::ONE_ORDER).await
    }

    async fn pay_after_a_decline(&self) -> Result<(), DemoError> {
        let json = format!(r#"{{"card":"{DECLINED_ONCE}","cents":1999}}"#);
        let (path, route) = ("/payments", "payments.charge");
        let payment = Call { path, route, key: "payment-1", json, stall: false };
        let declined = self.client.send(&self.service.authority, &payment).await?;
        if declined.status != StatusCode::PAYMENT_REQUIRED {
            return Err(DemoError::unexpected("a declined card", declined));
        }
        show("4", "a payment", "402, the card was declined");
        let paid = self.client.send(&self.service.authority, &payment).await?;
        if paid.status != StatusCode::CREATED || paid.replayed {
            return Err(DemoError::unexpected("the retry of a payment", paid));
        }
        self.client.expect_rows(&payment, Rows::ONE_PAYMENT).await?;
        show("", "the payment again", &format!("201: charge {}, 1 row", paid.member("id")));
        Ok(())
    }

    async fn kill_the_service_in(&mut self, order: &Call) -> Result<(), DemoError> {
        let (stalled, authority) = (Call { stall: true, ..order.clone() }, self.service.authority.clone());
        let killing = async {
            self.service.stalled().await?;
            self.service.kill().await
        };
        let (broken, killed) = join(self.client.send(&authority, &stalled), killing).await;
        killed?;
        if let Ok(answer) = broken {
            return Err(DemoError::unexpected("an order whose service was killed", answer));
        }
        show("5", "a second order", "the service is killed after its INSERT");
        self.service = Service::start(self.url).await?;
        let (begin, mut refused) = (Instant::now(), 0);
        let done = loop {
            let answer = self.client.send(&self.service.authority, order).await?;
            if answer.status == StatusCode::CREATED && !answer.replayed {
                break answer;
            }
            if !answer.is("IDEMPOTENCY_IN_PROGRESS") {
                return Err(DemoError::unexpected("the retry of a killed order", answer));
            }
            refused += 1;
            tokio::time::sleep(PAUSE).await;
        };
        let waited = begin.elapsed().as_secs_f32();
        show("", "the order again, after a restart", &format!("{refused} in progress, for {waited:.1} s"));
        let attempt = self.client.attempt(order).await?;
        self.client.expect_rows(order, Rows::ONE_ORDER).await?;
        show("", "", &format!("attempt {attempt}: order {}, 1 row", done.member("id")));
        let again = self.client.send(&self.service.authority, order).await?;
        if attempt != 2 || !again.replayed {
            return Err(DemoError::unexpected("the order after its second attempt", again));
        }
        show("6", "and once more", &format!("replayed: order {}\n", again.member("id")));
        Ok(())
    }
}

fn books(key: &'static str, quantity: u32) -> Call {
    let json = format!(r#"{{"item":"book","quantity":{quantity}}}"#);
    Call { path: "/orders", route: "orders.create", key, json, stall: false }
}

fn show(step: &str, sent: &str, came: &str) {
    println!("{step:<3}{sent:<34}{came}");
}
