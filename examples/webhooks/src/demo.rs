//! Plays a provider that delivers more than once, and somebody who pretends to be it.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use axum::http::{Method, StatusCode};
use example_support::{Call, Client, DemoError, Service, Summary, open, show};
use futures_util::future::join_all;
use serde_json::json;
use sqlx::SqlitePool;
use uuid::Uuid;

use crate::events::Event;
use crate::sender::SIGNATURE;
use crate::service::SECRET;
use crate::signature::Secret;

/// How many deliveries of one event come at once.
const AT_ONCE: usize = 20;
/// What each order costs.
const PRICE: i64 = 1999;

/// Plays all steps.
pub(crate) async fn run(folder: PathBuf) -> Result<Summary, DemoError> {
    let secret = Uuid::new_v4().to_string();
    let service = Service::start(&folder, &[(SECRET, &secret)]).await?;
    let client = Client::new(service.authority())?;
    let demo = Demo { client, pool: open(&folder).await?, secret: Secret::new(secret) };
    demo.deliver_many_at_once().await?;
    demo.deliver_before_the_order_is_there().await?;
    demo.tamper().await?;
    demo.deliver_what_is_old().await?;
    demo.deliver_another_event_under_the_same_id().await?;
    demo.count_payments().await
}

struct Demo {
    client: Client,
    pool: SqlitePool,
    secret: Secret,
}

impl Demo {
    /// A delivery that the provider signs at this time.
    fn delivery(&self, event: &Event, at: SystemTime) -> Call {
        let body = json!(event).to_string();
        let signature = self.secret.sign(at, body.as_bytes());
        unsigned(body).header(SIGNATURE, signature)
    }

    async fn order(&self, order: &str) -> Result<(), DemoError> {
        let call = Call::json("/orders", &json!({ "order": order })).key(order);
        let answer = self.client.send(&call).await?;
        DemoError::unless(answer.status == StatusCode::CREATED, "an order", answer)
    }

    async fn deliver_many_at_once(&self) -> Result<(), DemoError> {
        self.order("order-1").await?;
        let call = self.delivery(&event("order-1", 1), SystemTime::now());
        let (mut first, mut replayed) = (0, 0);
        for answer in join_all((0..AT_ONCE).map(|_| self.client.send_until_answered(&call))).await {
            let answer = answer?;
            DemoError::unless(answer.status == StatusCode::OK, "a delivery", &answer)?;
            *if answer.replayed { &mut replayed } else { &mut first } += 1;
        }
        DemoError::unless(first == 1, "deliveries at once", (first, replayed))?;
        show(
            "1",
            &format!("an event, delivered {AT_ONCE} times at once"),
            &format!("{first} first, {replayed} replayed"),
        );
        let again = self.client.send(&self.delivery(&event("order-1", 2), SystemTime::now())).await?;
        DemoError::unless(again.replayed, "a second delivery", again)?;
        show("2", "the second delivery, with a new signature", "200, replayed");
        Ok(())
    }

    async fn deliver_before_the_order_is_there(&self) -> Result<(), DemoError> {
        for delivery in 1..=2 {
            let call = self.delivery(&event("order-2", delivery), SystemTime::now());
            let early = self.client.send(&call).await?;
            let failed = early.status == StatusCode::NOT_FOUND && !early.replayed;
            DemoError::unless(failed, "an event without an order", early)?;
        }
        show("3", "an event before its order", "404, and 404: it runs again");
        self.order("order-2").await?;
        let later = self.client.send(&self.delivery(&event("order-2", 3), SystemTime::now())).await?;
        DemoError::unless(later.status == StatusCode::OK && !later.replayed, "a later delivery", later)?;
        show("", "the third delivery, after the order", "200");
        Ok(())
    }

    async fn tamper(&self) -> Result<(), DemoError> {
        self.order("order-3").await?;
        let (genuine, now) = (event("order-3", 1), SystemTime::now());
        let signature = self.secret.sign(now, json!(genuine).to_string().as_bytes());
        let tampered = unsigned(json!(Event { cents: 1, ..genuine.clone() }).to_string());
        for call in [tampered.clone(), tampered.header(SIGNATURE, signature)] {
            let answer = self.client.send(&call).await?;
            DemoError::unless(answer.status == StatusCode::UNAUTHORIZED, "a tampered delivery", answer)?;
        }
        show("4", "one without a signature, and a changed one", "401");
        // Had the tampered one claimed the key, this would be a conflict.
        let answer = self.client.send(&self.delivery(&genuine, now)).await?;
        DemoError::unless(answer.status == StatusCode::OK && !answer.replayed, "the genuine one", answer)?;
        show("", "the genuine one", "200: the key was not used up");
        Ok(())
    }

    async fn deliver_what_is_old(&self) -> Result<(), DemoError> {
        let old = SystemTime::now() - Duration::from_mins(10);
        let answer = self.client.send(&self.delivery(&event("order-1", 1), old)).await?;
        DemoError::unless(answer.status == StatusCode::UNAUTHORIZED, "an old delivery", answer)?;
        show("5", "a delivery of ten minutes ago, played again", "401");
        Ok(())
    }

    async fn deliver_another_event_under_the_same_id(&self) -> Result<(), DemoError> {
        let other = Event { cents: 1, ..event("order-1", 1) };
        let answer = self.client.send(&self.delivery(&other, SystemTime::now())).await?;
        DemoError::unless(answer.is("IDEMPOTENCY_KEY_CONFLICT"), "another event", answer)?;
        show("6", "another event under the same id", "422, nothing booked");
        Ok(())
    }

    /// How many payments were booked, and how many of them more than once.
    async fn count_payments(&self) -> Result<Summary, DemoError> {
        let paid: Vec<(i64,)> = sqlx::query_as("SELECT paid FROM orders").fetch_all(&self.pool).await?;
        let whole = paid.len() == 3 && paid.iter().all(|(paid,)| *paid > 0 && paid % PRICE == 0);
        DemoError::unless(whole, "what was paid", &paid)?;
        let double = paid.iter().filter(|(paid,)| *paid > PRICE).count() as u64;
        Ok(self.client.summary(paid.iter().map(|(paid,)| (paid / PRICE).unsigned_abs()).sum(), double))
    }
}

fn unsigned(body: String) -> Call {
    Call::new(Method::POST, "/webhooks", body).header("content-type", "application/json")
}

fn event(order: &str, delivery: u32) -> Event {
    Event { id: format!("evt-{order}"), delivery, order: order.to_owned(), cents: PRICE }
}
