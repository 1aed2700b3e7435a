//! Plays a client that repeats itself, and shows what it gets.

use std::time::{Duration, Instant};

use idem_runtime::IdempotencyMutationGuard;

use crate::client::Client;
use crate::database::{Rows, ShopDatabase};
use crate::error::DemoError;
use crate::orders::{LEASE, NewOrder};
use crate::payments::{DECLINED_ONCE, Payment};
use crate::process::{TOO_LONG, Worker};
use crate::protocol::{Answer, Body, Call, Message};

/// How many duplicates of the first order are sent at once.
const DUPLICATES: usize = 50;
/// The longest pause before an order is asked for again.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// Prepares the database, plays all steps and prints the result as the last line.
pub(crate) async fn run<D: ShopDatabase>(url: &str) -> Result<(), DemoError> {
    let guard = IdempotencyMutationGuard::builder(D::open(url).await?).migrate().build().await?;
    D::create_tables(guard.pool()).await?;
    let mut demo =
        Demo { url, a: Worker::start(url).await?, b: Worker::start(url).await?, client: Client::new(guard) };
    println!("{}, workers A (process {}) and B (process {})\n", D::NAME, demo.a.id(), demo.b.id());
    let played = demo.play().await;
    let summary = demo.client.summary().await?;
    println!("{summary}");
    played?;
    demo.a.stop().await?;
    demo.b.stop().await?;
    summary.verdict()
}

struct Demo<'a, D: ShopDatabase> {
    url: &'a str,
    a: Worker,
    b: Worker,
    client: Client<D>,
}

impl<D: ShopDatabase> Demo<'_, D> {
    async fn play(&mut self) -> Result<(), DemoError> {
        let order = self.client.call("order-1", Body::CreateOrder(books(1)));
        self.send_many_at_once(&order).await?;
        self.send_again(&order).await?;
        self.send_another_body(&order).await?;
        self.pay_after_a_decline().await?;
        let order = self.client.call("order-2", Body::CreateOrder(books(2)));
        self.kill_a_worker_in(&order).await?;
        self.start_it_again_for(&order).await
    }

    async fn send_many_at_once(&mut self, order: &Call) -> Result<(), DemoError> {
        for _ in 0..DUPLICATES / 2 {
            self.client.send(&mut self.a, order).await?;
            self.client.send(&mut self.b, order).await?;
        }
        let (mut first, mut replayed, mut in_progress) = (0, 0, 0);
        for number in 0..DUPLICATES {
            let worker = if number < DUPLICATES / 2 { &mut self.a } else { &mut self.b };
            match self.client.receive(worker, order).await? {
                Answer::Done(done) if done.replayed => replayed += 1,
                Answer::Done(_) => first += 1,
                Answer::InProgress { .. } => in_progress += 1,
                other => return Err(DemoError::unexpected("a duplicate", other)),
            }
        }
        let came = format!("{first} first, {replayed} replayed, {in_progress} in progress");
        show("1", &format!("the same order {DUPLICATES} times at once"), &came);
        self.client.expect_rows(order, Rows::ONE_ORDER).await?;
        if first == 1 { Ok(()) } else { Err(DemoError::unexpected("duplicates", came)) }
    }

    async fn send_again(&mut self, order: &Call) -> Result<(), DemoError> {
        match self.client.ask(&mut self.b, order).await? {
            Answer::Done(done) if done.replayed => {
                show("2", "the order again, through B", &format!("replayed: order {}", done.ids()));
                Ok(())
            }
            other => Err(DemoError::unexpected("a retry", other)),
        }
    }

    async fn send_another_body(&mut self, order: &Call) -> Result<(), DemoError> {
        let other = Call { body: Body::CreateOrder(books(7)), ..order.clone() };
        match self.client.ask(&mut self.a, &other).await? {
            Answer::Conflict => show("3", "its key with another quantity", "conflict, nothing done"),
            other => return Err(DemoError::unexpected("another order with the same key", other)),
        }
        self.client.expect_rows(order, Rows::ONE_ORDER).await
    }

    async fn pay_after_a_decline(&mut self) -> Result<(), DemoError> {
        let payment = Payment { card: DECLINED_ONCE.to_owned(), cents: 1999 };
        let payment = self.client.call("payment-1", Body::Pay(payment));
        match self.client.ask(&mut self.a, &payment).await? {
            Answer::Failed { reason } => show("4", "a payment, through A", &format!("failed: {reason}")),
            other => return Err(DemoError::unexpected("a declined card", other)),
        }
        match self.client.ask(&mut self.b, &payment).await? {
            Answer::Done(done) if !done.replayed && done.attempt == 2 => {
                self.client.expect_rows(&payment, Rows::ONE_PAYMENT).await?;
                show("", "the payment again, through B", &format!("attempt 2: charge {}, 1 row", done.ids()));
                Ok(())
            }
            other => Err(DemoError::unexpected("the retry of a payment", other)),
        }
    }

    async fn kill_a_worker_in(&mut self, order: &Call) -> Result<(), DemoError> {
        let sent = Instant::now();
        self.client.send(&mut self.a, &Call { stall: true, ..order.clone() }).await?;
        match self.a.receive().await? {
            Message::Stalled => self.a.kill().await?,
            other => return Err(DemoError::unexpected("a stalled order", other)),
        }
        show("5", "a second order, through A", "A killed after its INSERT");
        let mut refused = 0;
        let done = loop {
            match self.client.ask(&mut self.b, order).await? {
                Answer::InProgress { retry_after } if sent.elapsed() < TOO_LONG => {
                    refused += 1;
                    tokio::time::sleep(retry_after.min(LONGEST_PAUSE)).await;
                }
                // The lease began after `sent`, so nobody may have the order before it ends.
                Answer::Done(done) if done.attempt == 2 && !done.replayed && sent.elapsed() >= LEASE => {
                    break done;
                }
                other => return Err(DemoError::unexpected("the retry of a killed order", other)),
            }
        };
        self.client.expect_rows(order, Rows::ONE_ORDER).await?;
        let waited = sent.elapsed().as_secs_f32();
        show("", "the order again, through B", &format!("{refused} in progress, for {waited:.1} s"));
        show("", "", &format!("attempt 2: order {}, 1 row", done.ids()));
        Ok(())
    }

    async fn start_it_again_for(&mut self, order: &Call) -> Result<(), DemoError> {
        self.a = Worker::start(self.url).await?;
        match self.client.ask(&mut self.a, order).await? {
            Answer::Done(done) if done.replayed && done.attempt == 2 => {
                show("6", "the order again, through a new A", &format!("replayed: order {}\n", done.ids()));
                Ok(())
            }
            other => Err(DemoError::unexpected("the answer of a new worker", other)),
        }
    }
}

fn books(quantity: i64) -> NewOrder {
    NewOrder { item: "book".to_owned(), quantity }
}

fn show(step: &str, sent: &str, came: &str) {
    println!("{step:<3}{sent:<34}{came}");
}
