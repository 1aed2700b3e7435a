//! Events that commit with the rows they tell of, and reach their handlers in order, each with one effect.
//!
//! A body [publishes](crate::Mutation::publish) an [`Event`] in its own transaction. A [`Dispatcher`], of which any
//! number of processes may have one, takes what is due and hands it to every function with
//! [`#[outbox_handler]`](crate::outbox_handler) for its type and version. Each handler runs under the guard, with
//! the event's id as its idempotency key: an event that is delivered twice takes effect once.
//!
//! - Events with the same [aggregate](Event::aggregate) are delivered one after the other, in the order in which
//!   they were published; all others in parallel.
//! - A delivery that fails is repeated after a pause that doubles each time; after the last one the event is
//!   [dead](crate::store::EventStatus::Dead), its successors go on, and an operator decides.
//! - Every dispatcher of one database must know the same handlers: an event is delivered when all have it.

mod deliver;
mod delivery;
mod dispatcher;
mod event;
mod handler;
mod pauses;
mod publish;
mod queue;
mod registered;
mod running;
mod sealed;
mod work;

pub use delivery::Delivery;
pub use dispatcher::{Dispatcher, DispatcherBuilder, DispatcherError};
pub use event::{Event, EventError};
#[cfg(feature = "nats")]
pub(crate) use pauses::Pauses;
pub use registered::{HandlerEntry, handlers};
pub use running::{Delivered, Running};

#[doc(hidden)]
pub use handler::{HasStore, Spec, external, transactional};
