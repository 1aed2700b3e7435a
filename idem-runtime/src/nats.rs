//! Messages from NATS JetStream, each with one effect, and events of the outbox to it.
//!
//! A [`Receiver`] takes the messages of a pull consumer, runs a body for each through an [`Inbox`](crate::Inbox), and
//! acknowledges after the commit. A [`Relay`] publishes an event of the [outbox](crate::outbox) under an identity that
//! is the same at every delivery. Neither trusts the broker to deliver once.
//!
//! This is the whole way: an event becomes a message, and the message a row, once.
//!
//! ```no_run
//! use async_nats::jetstream;
//! use idem_runtime::nats::{DeadLetters, Failure, Message, Receiver, Relay, RelayError};
//! use idem_runtime::outbox::Delivery;
//! use idem_runtime::sqlite::{Claim, Guard, Inbox, Mutation};
//! use idem_runtime::outbox_handler;
//! use serde_json::Value;
//!
//! #[outbox_handler(event = "order.created", version = 1, handler_key = "to-nats")]
//! async fn to_nats(event: &Delivery<Value>, relay: &Relay, _claim: &Claim) -> Result<(), RelayError> {
//!     relay.publish(event).await.map(|_| ())
//! }
//!
//! async fn count_stock(message: &Message, mutation: &mut Mutation) -> Result<(), Failure> {
//!     let order: Value = message.json()?;
//!     let update = sqlx::query("UPDATE stock SET left = left - 1 WHERE sku = ?1").bind(order["sku"].as_str());
//!     update.execute(&mut **mutation).await?;
//!     Ok(())
//! }
//!
//! # async fn run(guard: Guard, warehouse: Guard) -> Result<(), Box<dyn std::error::Error>> {
//! let jetstream = jetstream::new(async_nats::connect("127.0.0.1:4222").await?);
//!
//! // The shop: `Dispatcher::builder(guard).state(relay)`.
//! let relay = Relay::new(jetstream.clone(), "shop");
//!
//! // The warehouse.
//! let config = jetstream::consumer::pull::Config { durable_name: Some("stock".into()), ..Default::default() };
//! let consumer = jetstream.get_stream("SHOP").await?.get_or_create_consumer("stock", config).await?;
//! let inbox = Inbox::new(warehouse, "shop.orders")?;
//! let dead_letters = DeadLetters::new(jetstream, "dead.stock");
//! let receiver = Receiver::builder(inbox, consumer, dead_letters, Message::scope).build().await?;
//! let running = receiver.spawn(|message, mutation| Box::pin(count_stock(message, mutation)));
//! // ... and at shutdown, before the pool is closed:
//! running.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod builder;
mod dead_letters;
mod deliver;
mod message;
mod receiver;
mod relay;
mod verdict;

pub use builder::{ReceiverBuilder, ReceiverError};
pub use dead_letters::DeadLetters;
pub use message::{Message, MissingId};
pub use receiver::Receiver;
pub use relay::{Relay, RelayError};
pub use verdict::Failure;
