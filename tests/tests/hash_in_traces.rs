//! The hash of a request is in the traces at the level `debug`, for `idem diagnose --request-hash`; the key never is.

use std::io;
use std::sync::{Arc, Mutex};

use idem_runtime::{Mutation, Success};
use idem_tests::{Fixture, OnSqlite, key, policy, scope};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;

/// What was traced so far.
#[derive(Clone, Default)]
struct Traced(Arc<Mutex<Vec<u8>>>);

impl io::Write for Traced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Traced {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hash_of_a_request_is_traced_and_its_key_is_not() {
    let traced = Traced::default();
    let targets = tracing_subscriber::filter::Targets::new().with_target("idem_runtime", LevelFilter::DEBUG);
    let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(traced.clone());

    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer).with(targets))
        .unwrap();

    let fixture = OnSqlite::create().await;
    let guard = fixture.guard(2).await;
    let request = guard.request(scope(), key("the-secret-key")).of("book").unwrap();
    let body = async |_: &mut Mutation<sqlx::Sqlite>| {
        Ok::<_, idem_runtime::Error>(Success::new("ordered".to_owned()))
    };
    guard.run(&policy(), request, body).await.unwrap();

    let address = idem_runtime::RecordKey::new(scope(), policy().route().clone(), key("the-secret-key"));
    let hash = guard.read(&address).await.unwrap().unwrap().record.request_hash;
    let text = String::from_utf8(traced.0.lock().unwrap().clone()).unwrap();
    assert!(text.contains(&format!("route=\"orders.create\" request_hash={hash}")), "{text}");
    assert!(!text.contains("the-secret-key"), "{text}");
}
