//! A real Prometheus exporter, and what a server reads from it.

use std::net::{SocketAddr, TcpListener};
use std::sync::OnceLock;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::Metrics;

static ADDRESS: OnceLock<SocketAddr> = OnceLock::new();

/// Starts the exporter, once in this process, on a free port and in a thread of its own.
pub(crate) fn install() {
    ADDRESS.get_or_init(|| {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let buckets = idem_runtime::telemetry::BUCKETS;
        let builder = PrometheusBuilder::new()
            .with_http_listener(address)
            .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), buckets)
            .unwrap();
        let (recorder, exporter) = {
            let _inside = runtime.enter();
            builder.build().unwrap()
        };
        metrics::set_global_recorder(recorder).unwrap();
        std::thread::spawn(move || runtime.block_on(exporter));
        address
    });
}

/// The text that the exporter serves.
pub(crate) async fn text() -> String {
    let address = *ADDRESS.get().expect("the exporter is installed");
    let mut connection = loop {
        // The listener may still be about to begin.
        match tokio::net::TcpStream::connect(address).await {
            Ok(connection) => break connection,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let request = format!("GET /metrics HTTP/1.0\r\nHost: {address}\r\n\r\n");
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    answer.split_once("\r\n\r\n").expect("a head and a body").1.to_owned()
}

/// What one scrape shows.
pub(crate) async fn scrape() -> Metrics {
    let text = text().await;
    let mut scraped = Metrics::default();
    for line in text.lines() {
        if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|line| line.split_once(' ')) {
            scraped.kinds.insert(name.to_owned(), kind.to_owned());
        }
    }
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let (sample, _) = line.rsplit_once(' ').expect("a sample and its value");
        let (name, labels) = sample.split_once('{').unwrap_or((sample, "}"));
        let histogram = ["_bucket", "_sum", "_count"].iter().find_map(|part| name.strip_suffix(part));
        let name = histogram.unwrap_or(name);
        let of_this = scraped.labels.entry(name.to_owned()).or_default();
        for label in labels.trim_end_matches('}').split(',').filter(|label| !label.is_empty()) {
            let (label, value) = label.split_once('=').expect("a label and its value");
            if label == "le" {
                continue;
            }
            of_this.insert(label.to_owned());
            let value = value.trim_matches('"');
            if label == "route" {
                assert!(ROUTES.contains(&value) || value.starts_with("outbox:order."), "{line}");
            } else if label == "event" {
                assert!(value.starts_with("order."), "{line}");
            } else {
                let word = value.to_owned();
                scraped.words.insert((name.to_owned(), label.to_owned(), word));
            }
        }
    }
    scraped
}

/// The routes of these tests, besides those of handlers; no other value of `route` may come up.
const ROUTES: &[&str] = &["orders.create", "orders.crowded"];

/// Whether the exporter shows a sample of `name` with this label.
pub(crate) async fn shows(name: &str, label: &str, value: &str) -> bool {
    let pair = format!("{label}=\"{value}\"");
    text().await.lines().any(|line| line.starts_with(name) && line.contains(&pair))
}
