//! What `idem diagnose` says about a request, from the record that it would meet.

use idem_conformance::{Forecast, Foreseen, Message};
use idem_runtime::store::Store;
use idem_runtime::{
    Comparison, Fingerprint, HttpRequest, IdempotencyKey, Keyring, Next, Reading, RecordKey, Route, Scope,
    Timestamp, diagnose,
};
use sqlx::Pool;

/// A guarded route of the app: where it is, its name, and how its requests are compared.
struct Place {
    method: &'static str,
    path: &'static str,
    route: &'static str,
    compares: Compares,
}

#[derive(Clone, Copy)]
enum Compares {
    Json,
    Bytes,
    /// JSON without this member.
    Without(&'static str),
}

const fn place(method: &'static str, path: &'static str, route: &'static str) -> Place {
    Place { method, path, route, compares: Compares::Json }
}

const fn with(compares: Compares, path: &'static str, route: &'static str) -> Place {
    Place { method: "POST", path, route, compares }
}

/// A path with a slash at its end stands for every path below it. Delegated functions compare their arguments, and
/// are left out.
const PLACES: [Place; 27] = [
    place("POST", "/orders", "orders.create"),
    place("POST", "/v2/orders", "orders.create"),
    place("POST", "/retryable", "orders.create-retryable"),
    place("POST", "/optional", "orders.create-optional"),
    place("POST", "/expiring", "orders.create-expiring"),
    place("POST", "/panic", "orders.panic"),
    place("POST", "/payments", "payments.create"),
    place("POST", "/slow", "partner.slow"),
    place("POST", "/wait", "partner.awaited"),
    place("POST", "/leased", "partner.leased"),
    place("POST", "/leased-refuse", "partner.leased-refuse"),
    place("POST", "/renewed", "partner.renewed"),
    place("POST", "/recovered", "partner.recovered"),
    place("PUT", "/profiles/", "profiles.replace"),
    place("PATCH", "/profiles/", "profiles.change"),
    place("DELETE", "/profiles/", "profiles.delete"),
    place("POST", "/no-content", "payloads.none"),
    place("POST", "/large", "payloads.large"),
    place("POST", "/answers", "answers.any"),
    place("POST", "/answers-again", "answers.again"),
    place("POST", "/headers", "answers.headers"),
    place("POST", "/compressed", "answers.compressed"),
    with(Compares::Bytes, "/echo", "payloads.echo"),
    with(Compares::Bytes, "/form", "requests.form"),
    with(Compares::Bytes, "/text", "requests.text"),
    with(Compares::Without("/meta/sent_at"), "/imports", "requests.import"),
    with(Compares::Without("/delivery"), "/hooks", "requests.hook"),
];

/// The one place of a request, its record's address and its fingerprint; `None` when it never comes to a claim.
fn asked(request: &Message) -> Option<(RecordKey, Fingerprint)> {
    let (path, query) = match request.path.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (request.path.as_str(), None),
    };
    let at = |place: &&Place| {
        place.method == request.method
            && if place.path.ends_with('/') { path.starts_with(place.path) } else { path == place.path }
    };
    let place = PLACES.iter().find(at)?;
    let one = |name| match request.header(name).as_slice() {
        [line] => Some((*line).to_owned()),
        _ => None,
    };
    let scope = Scope::new(one("x-tenant")?, one("x-user")?).ok()?;
    let body = request.body.as_deref().unwrap_or_default();
    let key = if place.route == "requests.hook" {
        let event: serde_json::Value = serde_json::from_slice(body).ok()?;
        event["id"].as_str()?.to_owned()
    } else {
        key_in(&one("idempotency-key")?)?
    };
    let key = RecordKey::new(scope, Route::new(place.route).ok()?, IdempotencyKey::new(key).ok()?);
    let content_type = one("content-type");
    let http =
        HttpRequest::new(place.method, path).query(query).content_type(content_type.as_deref()).body(body);
    let fingerprint = match place.compares {
        Compares::Json => http.fingerprint(),
        Compares::Bytes => http.raw().fingerprint(),
        Compares::Without(pointer) => http.ignore(&[pointer]).fingerprint(),
    };
    Some((key, fingerprint.ok()?))
}

/// The key in a header, bare or quoted.
fn key_in(line: &str) -> Option<String> {
    let line = line.trim_matches([' ', '\t']);
    let Some(quoted) = line.strip_prefix('"') else { return Some(line.to_owned()) };
    let mut key = String::new();
    let mut letters = quoted.chars();
    loop {
        match letters.next()? {
            '"' => return Some(key),
            '\\' => key.push(letters.next()?),
            letter => key.push(letter),
        }
    }
}

async fn record<S: Store>(pool: &Pool<S>, key: &RecordKey) -> Option<Reading> {
    let mut connection = pool.acquire().await.expect("the database is there for the test");
    S::read(&mut connection, key).await.expect("a record can be read")
}

/// What the request gets, by the library that `idem diagnose` asks.
pub(crate) async fn foresee<S: Store>(
    pool: &Pool<S>,
    keyring: &Keyring,
    request: &Message,
) -> Option<Forecast> {
    let (key, fingerprint) = asked(request)?;
    let reading = record(pool, &key).await;
    let now = reading.as_ref().map_or(Timestamp::from_micros(0), |reading| reading.now);
    let compare = |recorded: &str| -> Comparison { keyring.compare(&fingerprint, recorded) };
    let diagnosis = diagnose(reading.as_ref().map(|reading| &reading.record), compare, now);
    let next = match diagnosis.next {
        Next::Runs { attempt } => Foreseen::Runs { attempt },
        Next::Asks { attempt } => Foreseen::Asks { attempt },
        Next::Replays { status } => Foreseen::Replays { status },
        Next::Refused { status, code, retry_after } => Foreseen::Refused { status, code, retry_after },
    };
    Some(Forecast { verdict: diagnosis.verdict.as_str(), next, waits: !diagnosis.waits.is_zero() })
}

/// The attempt in the record of the request.
pub(crate) async fn attempt<S: Store>(pool: &Pool<S>, request: &Message) -> Option<i64> {
    let (key, _) = asked(request)?;
    Some(record(pool, &key).await?.record.token.attempt)
}

/// Gives the key of the request back.
pub(crate) async fn release<S: Store>(pool: &Pool<S>, request: &Message) -> Result<bool, String> {
    let (key, _) = asked(request).ok_or("no route has this request")?;
    let Some(Reading { record, .. }) = record(pool, &key).await else { return Ok(false) };
    let mut connection = pool.acquire().await.map_err(|error| error.to_string())?;
    let released = S::release(&mut connection, &key, record.token, Some(record.revision)).await;
    released.map_err(|error| error.to_string())
}

/// Expires and purges everything that is past its life.
pub(crate) async fn sweep<S: Store>(pool: &Pool<S>) -> Result<(), String> {
    let mut connection = pool.acquire().await.map_err(|error| error.to_string())?;
    S::expire(&mut connection, 1_000).await.map_err(|error| error.to_string())?;
    let none = std::time::Duration::ZERO;
    S::purge(&mut connection, none, 1_000).await.map(drop).map_err(|error| error.to_string())
}
