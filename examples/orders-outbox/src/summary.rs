//! Counts in the database and at the provider what took effect, and how often.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::Ordering;

use idem_runtime::IdempotencyMutationGuard;
use idem_runtime::store::{EventFilter, EventStatus};

use crate::client::Client;
use crate::database::{Movement, OrdersDatabase, RESERVED, SHIPPED};
use crate::error::DemoError;
use crate::provider::Provider;

/// More events than a run has.
const ALL: u32 = 100_000;

/// The last line of the demo.
#[derive(Debug, Clone, Default)]
pub(crate) struct Summary {
    requests: u64,
    replayed: u64,
    orders: usize,
    events: usize,
    /// Events that were taken more than once: after a kill, or after an answer that was lost.
    taken_again: usize,
    mails: usize,
    /// Requests for mails beyond the first of each key.
    asked_again: u64,
    lost_answers: u64,
    /// Orders whose stock moved in the wrong order.
    out_of_order: usize,
    /// Rows beyond the first of an event, orders and mails beyond those that were asked for.
    double_effects: usize,
    /// Events without their row, orders without their mail, and events that were not delivered.
    lost: usize,
}

impl Summary {
    pub(crate) async fn count<D: OrdersDatabase>(
        guard: &IdempotencyMutationGuard<D>,
        client: &Client,
        provider: &Provider,
    ) -> Result<Self, DemoError> {
        let orders = D::orders(guard.pool(), &client.tenant).await?;
        let filter = EventFilter { tenant: Some(client.tenant.clone()), ..EventFilter::default() };
        let mut connection = guard.pool().acquire().await?;
        let events = D::events(&mut connection, &filter, ALL).await?;
        drop(connection);
        let movements = D::movements(guard.pool(), &client.tenant).await?;

        let mut rows: HashMap<_, usize> = HashMap::new();
        for (movement, _) in &movements {
            *rows.entry(movement.event).or_default() += 1;
        }
        let mails = provider.sent();
        let mut mailed: HashMap<_, usize> = HashMap::new();
        for sent in &mails {
            *mailed.entry(&sent.mail.order).or_default() += 1;
        }
        let effects = events.iter().map(|event| rows.get(&event.event.id).copied().unwrap_or(0));
        let effects = effects.chain(orders.iter().map(|order| mailed.get(order).copied().unwrap_or(0)));
        let (double, missing) = effects.fold((0, 0), |(double, missing), times| {
            (double + times.saturating_sub(1), missing + usize::from(times == 0))
        });
        // An order that was created twice has two events and two mails, which are right for each of the two.
        let placed = client.placed.load(Ordering::Relaxed);
        let undelivered = events.iter().filter(|event| event.status != EventStatus::Delivered).count();
        Ok(Self {
            requests: client.requests.load(Ordering::Relaxed),
            replayed: client.replayed.load(Ordering::Relaxed),
            orders: orders.len(),
            events: events.len(),
            taken_again: events.iter().filter(|event| event.attempt > 1).count(),
            mails: mails.len(),
            asked_again: mails.iter().map(|sent| sent.asked - 1).sum(),
            lost_answers: provider.lost_answers(),
            out_of_order: movements
                .iter()
                .filter(|(movement, position)| is_wrong(movement, *position))
                .count(),
            double_effects: double + orders.len().saturating_sub(placed),
            lost: missing + undelivered + placed.saturating_sub(orders.len()),
        })
    }

    pub(crate) fn verdict(&self) -> Result<(), DemoError> {
        let broken = self.double_effects + self.lost + self.out_of_order;
        if broken == 0 { Ok(()) } else { Err(DemoError::Broken) }
    }
}

/// Whether a movement is not where it belongs among those of its order.
fn is_wrong(movement: &Movement, position: i64) -> bool {
    [RESERVED, SHIPPED].iter().position(|name| *name == movement.name) != usize::try_from(position - 1).ok()
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requests, replayed, orders, events, taken_again, mails, .. } = self;
        let Self { asked_again, lost_answers, out_of_order, double_effects, lost, .. } = self;
        write!(
            f,
            "demo: requests={requests} replayed={replayed} orders={orders} events={events} \
             taken_again={taken_again} mails={mails} asked_again={asked_again} lost_answers={lost_answers} \
             out_of_order={out_of_order} double_effects={double_effects} lost={lost}"
        )
    }
}
