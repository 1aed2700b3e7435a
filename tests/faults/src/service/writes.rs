//! The guarded handlers: first writes to our own database, then calls to the provider.

use axum::Json;
use axum::extract::State;
use idem_runtime::outbox::Event;
use idem_runtime::store::ConnectionOf;
use idem_runtime::{Claim, DownstreamKey, Idempotency, Mutation, Recovery, idempotent};
use uuid::Uuid;

use super::answer::{Answer, Failure};
use super::app::{App, Caller};
use super::rows::Rows;
use crate::plan::Point;
use crate::routes::{Effect, Fails, Order, Owner, Part, Route};

impl<D: Rows> App<D> {
    /// Writes the row of a body, unless the request wants it to fail.
    async fn place(
        &self,
        connection: &mut ConnectionOf<D>,
        attempt: i64,
        owner: Owner,
        order: &Order,
    ) -> Result<Answer, Failure> {
        self.points.reach(Point::AfterClaim, &order.payload);
        let token = Uuid::new_v4().to_string();
        let effect = Effect { owner, payload: order.payload.clone(), part: Part::Row, token };
        D::write(connection, &effect).await?;
        self.points.reach(Point::InBody, &order.payload);
        fails(order, attempt, &effect)?;
        Ok(Answer { effect, points: self.points.clone() })
    }

    /// Calls the provider, unless the request wants it to fail.
    async fn call(&self, claim: &Claim<D>, owner: Owner, order: &Order) -> Result<Answer, Failure> {
        self.points.reach(Point::AfterClaim, &order.payload);
        let token = Uuid::new_v4().to_string();
        let planned =
            Effect { owner: owner.clone(), payload: order.payload.clone(), part: Part::Call, token };
        fails(order, claim.attempt(), &planned)?;
        let effect =
            self.partner.call(&claim.downstream_key("call"), owner, &order.payload, Part::Call).await?;
        self.points.reach(Point::InBody, &order.payload);
        Ok(Answer { effect, points: self.points.clone() })
    }

    /// Asks the provider what became of an attempt that stopped half-way.
    async fn recover(&self, key: DownstreamKey) -> Recovery<Answer> {
        match self.partner.find(key).await {
            Recovery::Done(effect) => Recovery::Done(Answer { effect, points: self.points.clone() }),
            Recovery::Absent => Recovery::Absent,
            Recovery::Unknown => Recovery::Unknown,
        }
    }
}

fn fails(order: &Order, attempt: i64, effect: &Effect) -> Result<(), Failure> {
    match order.fails {
        Fails::Always => Err(Failure::Asked(Box::new(effect.clone()))),
        Fails::First if attempt == 1 => Err(Failure::Asked(Box::new(effect.clone()))),
        Fails::First | Fails::Never => Ok(()),
    }
}

#[idempotent(route = "faults.orders", lease = "1s", max_run = "2s", release_on(Failure::Transient(_)))]
pub(crate) async fn orders<D: Rows>(
    idem: Idempotency<D>,
    State(app): State<App<D>>,
    caller: Caller,
    mutation: &mut Mutation<D>,
    Json(order): Json<Order>,
) -> Result<Answer, Failure> {
    let attempt = mutation.attempt();
    app.place(mutation, attempt, caller.owner(Route::Orders), &order).await
}

/// What a service does that has never heard of idempotency.
pub(crate) async fn unguarded<D: Rows>(
    State(app): State<App<D>>,
    caller: Caller,
    Json(order): Json<Order>,
) -> Result<Answer, Failure> {
    let mut connection = app.guard().pool().acquire().await?;
    app.place(&mut connection, 1, caller.owner(Route::Orders), &order).await
}

#[idempotent(
    route = "faults.retries",
    retry_failed = true,
    lease = "1s",
    max_run = "2s",
    wait = "300ms",
    release_on(Failure::Transient(_))
)]
pub(crate) async fn retries<D: Rows>(
    idem: Idempotency<D>,
    State(app): State<App<D>>,
    caller: Caller,
    mutation: &mut Mutation<D>,
    Json(order): Json<Order>,
) -> Result<Answer, Failure> {
    let attempt = mutation.attempt();
    app.place(mutation, attempt, caller.owner(Route::Retries), &order).await
}

#[idempotent(route = "faults.events", lease = "1s", max_run = "2s", release_on(Failure::Transient(_)))]
pub(crate) async fn events<D: Rows>(
    idem: Idempotency<D>,
    State(app): State<App<D>>,
    caller: Caller,
    mutation: &mut Mutation<D>,
    Json(order): Json<Order>,
) -> Result<Answer, Failure> {
    let attempt = mutation.attempt();
    let answer = app.place(mutation, attempt, caller.owner(Route::Events), &order).await?;
    let published = mutation.publish(Event::new("faults.placed", 1, &answer.effect)).await;
    published.map_err(|error| Failure::Transient(error.to_string()))?;
    Ok(answer)
}

#[idempotent(
    route = "faults.payments",
    lease = "1s",
    max_run = "10s",
    on_lapse = "rerun",
    release_on(Failure::Transient(_))
)]
pub(crate) async fn payments<D: Rows>(
    idem: Idempotency<D>,
    State(app): State<App<D>>,
    caller: Caller,
    Json(order): Json<Order>,
) -> Result<Answer, Failure> {
    app.call(idem, caller.owner(Route::Payments), &order).await
}

#[idempotent(route = "faults.refusals", lease = "1s", max_run = "10s", on_lapse = "refuse")]
pub(crate) async fn refusals<D: Rows>(
    idem: Idempotency<D>,
    State(app): State<App<D>>,
    caller: Caller,
    Json(order): Json<Order>,
) -> Result<Answer, Failure> {
    app.call(idem, caller.owner(Route::Refusals), &order).await
}

#[idempotent(
    route = "faults.recoveries",
    lease = "1s",
    max_run = "10s",
    on_lapse = recover(app.recover(idem.downstream_key("call"))),
    release_on(Failure::Transient(_))
)]
pub(crate) async fn recoveries<D: Rows>(
    idem: Idempotency<D>,
    State(app): State<App<D>>,
    caller: Caller,
    Json(order): Json<Order>,
) -> Result<Answer, Failure> {
    app.call(idem, caller.owner(Route::Recoveries), &order).await
}
