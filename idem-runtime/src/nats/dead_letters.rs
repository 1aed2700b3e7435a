//! Where messages go that are given up.

use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::Context;
use async_nats::jetstream::message::PublishMessage;
use async_nats::{Client, HeaderMap, HeaderName, HeaderValue};

use super::{Message, ReceiverError};

/// The longest reason that is kept, in bytes.
const MAX_REASON: usize = 1000;

/// A subject under which a stream keeps what a [`Receiver`](super::Receiver) gives up.
///
/// A message goes there as it came, with its headers and these besides: `Idem-Dead-Reason`, `Idem-Dead-Subject`,
/// `Idem-Dead-Stream`, `Idem-Dead-Sequence` and `Idem-Dead-Message-Id`, which takes the place of `Nats-Msg-Id`. The
/// broker ends the delivery only after the stream has confirmed the dead letter. To try one again, publish it to
/// its old subject under its old `Nats-Msg-Id`.
#[derive(Debug, Clone)]
pub struct DeadLetters {
    jetstream: Context,
    subject: String,
}

impl DeadLetters {
    /// Dead letters under `subject`, which a stream has to take: another one than that of the messages. `jetstream`
    /// is on the client of the consumer.
    pub fn new(jetstream: Context, subject: impl Into<String>) -> Self {
        Self { jetstream, subject: subject.into() }
    }

    pub(super) fn client(&self) -> Client {
        self.jetstream.client()
    }

    /// Checks that there is such a stream.
    pub(super) async fn check(&self, messages: &str) -> Result<(), ReceiverError> {
        let stream = self.jetstream.stream_by_subject(self.subject.clone()).await;
        let stream = stream.map_err(|error| ReceiverError::DeadLetters {
            subject: self.subject.clone(),
            reason: error.to_string(),
        })?;
        if stream == messages {
            return Err(ReceiverError::DeadLetters {
                subject: self.subject.clone(),
                reason: format!("{stream} holds the messages themselves"),
            });
        }
        Ok(())
    }

    /// Keeps a message; when this returns, the stream has it.
    pub(super) async fn keep(&self, message: &Message, reason: &str) -> Result<(), async_nats::Error> {
        let mut headers = HeaderMap::new();
        for (name, values) in message.raw.headers.iter().flat_map(HeaderMap::iter) {
            // Those that the broker acts on were meant for the other stream.
            if !name.to_string().to_ascii_lowercase().starts_with("nats-") {
                for value in values {
                    headers.append(name.clone(), value.clone());
                }
            }
        }
        let (stream, sequence) = (message.stream(), message.sequence().to_string());
        let mut note = |name: &'static str, value: &str| {
            headers.insert(HeaderName::from_static(name), clean(value));
        };
        note("Idem-Dead-Reason", reason);
        note("Idem-Dead-Subject", message.subject());
        note("Idem-Dead-Stream", stream);
        note("Idem-Dead-Sequence", &sequence);
        if let Some(id) = message.raw.headers.as_ref().and_then(|headers| headers.get(NATS_MESSAGE_ID)) {
            note("Idem-Dead-Message-Id", id.as_str());
        }
        let letter = PublishMessage::build().headers(headers).payload(message.raw.payload.clone());
        let letter = letter.message_id(format!("{stream}:{sequence}"));
        self.jetstream.send_publish(self.subject.clone(), letter).await?.await?;
        Ok(())
    }
}

/// A value on one line.
fn clean(text: &str) -> HeaderValue {
    let text = &text[..text.floor_char_boundary(MAX_REASON)];
    let line: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    line.parse().unwrap_or_else(|_| unreachable!("a line without control characters is a value"))
}
