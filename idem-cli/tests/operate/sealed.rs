//! What `idem` says of what is sealed: that it is, and with which key, since it has none.

use idem_runtime::encryption::AnswerKeys;
use idem_runtime::outbox::Event;
use idem_runtime::store::Outbox;
use idem_runtime::{Error, IdempotencyMutationGuard, Mutation, Success};
use idem_tests::{Fixture, key, on_every_database, policy, scope};

use crate::at::At;

const SECRET: &str = "canary-5f1c9e";

/// A sealed answer under the key `k`, and the id of a sealed event.
async fn sealed<F: Fixture<S: Outbox>>(at: &At<F>) -> String {
    let keys = AnswerKeys::new("2026-01", &[1; 32]).unwrap();
    let guard = IdempotencyMutationGuard::builder(at.pool.clone()).encryption(keys).build().await.unwrap();
    let request = guard.request(scope(), key("k")).of("book").unwrap();
    let body = async |mutation: &mut Mutation<F::S>| {
        let id = mutation.publish(Event::new("order.created", 1, SECRET)).await.unwrap();
        Ok::<_, Error>(Success::new(format!("{SECRET} {id}")))
    };
    let outcome = guard.run(&policy(), request, body).await.unwrap();
    outcome.outbox_event_id().unwrap().to_owned()
}

async fn a_sealed_answer_is_named_and_not_shown<F: Fixture<S: Outbox>>() {
    let at = At::<F>::fresh().await;
    sealed(&at).await;
    let json = at.idem_on("diagnose", "k", &["--json"]).ended(0).json();
    assert_eq!(json["answer"]["response_sealed_with"], "2026-01");
    assert!(json["answer"]["response_body"].is_null() && json["answer"]["response_body_encoding"].is_null());
    assert!(!json.to_string().contains(SECRET));
    for command in ["diagnose", "show"] {
        let text = at.idem_on(command, "k", &["--show-body"]).ended(0).out();
        assert!(text.contains("sealed with the key 2026-01") && !text.contains(SECRET), "{text}");
    }
}

async fn a_sealed_event_is_named_and_not_shown<F: Fixture<S: Outbox>>() {
    let at = At::<F>::fresh().await;
    let id = sealed(&at).await;
    let json = at.idem(&["outbox", "show", &id, "--json"]).ended(0).json().to_string();
    assert!(json.contains(r#""sealed_with":"2026-01""#) && json.contains(r#""payload":null"#), "{json}");
    let text = at.idem(&["outbox", "show", &id, "--show-payload"]).ended(0).out();
    assert!(!text.contains(SECRET) && !json.contains(SECRET), "{text}");
}

on_every_database! {
    a_sealed_answer_is_named_and_not_shown,
    a_sealed_event_is_named_and_not_shown,
}
