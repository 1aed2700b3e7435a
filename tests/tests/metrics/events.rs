//! Brings about every fate of an event.

use std::sync::Arc;
use std::time::Duration;

use idem_runtime::outbox::{Delivery, Dispatcher, Event};
use idem_runtime::store::Outbox;
use idem_runtime::{Error, IdempotencyMutationGuard, Mutation, Success, outbox_handler};
use idem_tests::{Fixture, key, policy, scope};
use tokio::sync::Notify;

use crate::exporter::text;

const MOMENT: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_hours(1);

/// What a handler that waits shares with its test.
#[derive(Debug, Clone, Default)]
struct Stage(Arc<(Notify, Notify)>);

/// Handlers of one database: keys differ, as a key is unique in a program.
macro_rules! handlers {
    ($module:ident, $shipped:literal, $mailed:literal) => {
        mod $module {
            use idem_runtime::$module::{Claim, Mutation};

            use super::*;

            /// Fails if it is told to.
            #[outbox_handler(event = "order.shipped", version = 1, handler_key = $shipped)]
            async fn shipped(delivery: &Delivery<bool>, _: &mut Mutation) -> Result<(), &'static str> {
                if *delivery.payload() { Ok(()) } else { Err("the parcel is lost") }
            }

            #[outbox_handler(event = "order.mailed", version = 1, handler_key = $mailed)]
            async fn mailed(_: &Delivery<bool>, stage: &Stage, _: &Claim) -> Result<(), &'static str> {
                stage.0.0.notify_one();
                stage.0.1.notified().await;
                Ok(())
            }
        }
    };
}

handlers!(sqlite, "ship-s", "mail-s");
#[cfg(feature = "postgres")]
handlers!(postgres, "ship-p", "mail-p");
#[cfg(feature = "mysql")]
handlers!(mysql, "ship-m", "mail-m");

pub(crate) async fn every_fate<F: Fixture<S: Outbox>>() {
    let fixture = F::create().await;
    let (guard, stage) = (fixture.guard(8).await, Stage::default());
    let builder = |guard: &IdempotencyMutationGuard<F::S>| {
        let builder = Dispatcher::builder(guard.clone()).state(stage.clone());
        builder.pauses(MOMENT, MOMENT).lease(HOUR).max_deliveries(2)
    };
    let request = guard.request(scope(), key("events")).of("events").unwrap();
    let published = guard.run(&policy(), request, async |mutation: &mut Mutation<F::S>| {
        for fits in [true, false] {
            mutation.publish(Event::new("order.shipped", 1, &fits)).await.unwrap();
        }
        Ok::<_, Error>(Success::new(()))
    });
    published.await.unwrap();
    // Fails once, and is dead after the second time.
    let dispatcher = builder(&guard).build().await.unwrap();
    let mut dead = 0;
    while dead == 0 {
        dead = dispatcher.deliver_due().await.unwrap().dead;
    }
    // One handler is at work while another dispatcher takes its event, and is told to come again.
    let request = guard.request(scope(), key("mail")).of("mail").unwrap();
    let published = guard.run(&policy(), request, async |mutation: &mut Mutation<F::S>| {
        mutation.publish(Event::new("order.mailed", 1, &true)).await.unwrap();
        Ok::<_, Error>(Success::new(()))
    });
    published.await.unwrap();
    let at_work = tokio::spawn(async move { dispatcher.deliver_due().await.unwrap() });
    stage.0.0.notified().await;
    let mut connection = guard.pool().acquire().await.unwrap();
    let lapse = "UPDATE idempotency_outbox_events SET due_at = created_at WHERE status = 'pending'";
    F::execute(&mut connection, lapse).await.unwrap();
    drop(connection);
    let other = builder(&guard).build().await.unwrap();
    assert_eq!(other.deliver_due().await.unwrap().postponed, 1);
    stage.0.1.notify_one();
    assert_eq!(at_work.await.unwrap().delivered, 0, "its mark comes too late");

    let text = text().await;
    let counted = |line: &str| text.lines().any(|found| found.starts_with(line) && !found.ends_with(" 0"));
    for fate in ["delivered", "failed", "dead"] {
        let line = format!("idem_outbox_deliveries_total{{event=\"order.shipped\",fate=\"{fate}\"}}");
        assert!(counted(&line), "{line}: {text}");
    }
    assert!(counted("idem_outbox_published_total{event=\"order.shipped\"}"), "{text}");
    assert!(counted("idem_outbox_lag_seconds_count{event=\"order.shipped\"}"), "{text}");
}
