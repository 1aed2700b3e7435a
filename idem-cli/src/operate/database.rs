//! Which databases there are, and how a command reaches one; a password never leaves this file.

use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use idem_runtime::store::{ConnectionOf, Inspect};
use sqlx::Connection;
use sqlx::pool::PoolOptions;
use url::Url;

use super::Error;
use crate::Answer;

/// How long the database may take to let us in.
const PATIENCE: Duration = Duration::from_secs(10);

/// The database of a command, and the form of its answer.
#[derive(Debug, clap::Args)]
pub(super) struct Target {
    /// The database: `sqlite:<file>`, `postgres://<user>:<password>@<host>/<database>` or `mysql://...`.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database_url: DatabaseUrl,
    /// Print JSON; docs/cli.md describes its shape.
    #[arg(long)]
    pub(super) json: bool,
}

#[cfg(test)]
impl Target {
    pub(super) fn of(url: &str) -> Self {
        Self { database_url: url.to_owned().into(), json: false }
    }
}

/// A URL that may hold a password, which is why neither `Display` nor `Debug` shows all of it.
#[derive(Clone)]
pub(super) struct DatabaseUrl(String);

// Infallible, since the parser of arguments would print what it refuses.
impl From<String> for DatabaseUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for DatabaseUrl {
    /// Without the password and the query; nothing but the scheme when it is unclear where a password ends.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Url::parse(&self.0) {
            Ok(mut url) if !url.path().contains('@') && self.0.matches('@').count() < 2 => {
                let _ = url.set_password(None);
                url.set_query(None);
                url.set_fragment(None);
                write!(f, "{url}")
            }
            _ => write!(f, "{}:", self.scheme()),
        }
    }
}

impl DatabaseUrl {
    /// What stands before the colon, if it is a word that can be shown.
    fn scheme(&self) -> &str {
        let scheme = self.0.split_once(':').map_or("", |(scheme, _)| scheme);
        if scheme.bytes().all(|byte| byte.is_ascii_lowercase()) { scheme } else { "" }
    }

    /// An error of this database; should its text hold the password, that is taken out.
    fn error(&self, error: &dyn fmt::Display) -> Error {
        let mut message = error.to_string();
        if let Ok(url) = Url::parse(&self.0) {
            let query = url.query_pairs().filter(|(name, _)| name == "password");
            let secrets = url.password().map(str::to_owned).into_iter();
            for secret in secrets.chain(query.map(|(_, value)| value.into_owned())) {
                if !secret.is_empty() {
                    message = message.replace(&secret, "***");
                }
            }
        }
        Error::Database { database: self.to_string(), message }
    }
}

/// One database of a known kind; nothing is opened before it is asked for.
pub(super) struct Database<'a, S: Inspect> {
    url: &'a DatabaseUrl,
    store: PhantomData<S>,
}

impl<S: Inspect> fmt::Display for Database<'_, S> {
    /// Without its password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.url, f)
    }
}

impl<S: Inspect> Database<'_, S> {
    /// Another database of the same kind.
    pub(super) fn beside(url: &DatabaseUrl) -> Database<'_, S> {
        Database { url, store: PhantomData }
    }

    /// A pool of one connection, for what takes a pool.
    pub(super) async fn pool(&self) -> Result<sqlx::Pool<S>, Error> {
        let options = PoolOptions::<S>::new().max_connections(1).acquire_timeout(PATIENCE);
        self.ask(options.connect(&self.url.0).await)
    }

    /// One connection; without a pool, which would try again for long and then not say why in vain.
    pub(super) async fn connection(&self) -> Result<ConnectionOf<S>, Error> {
        match tokio::time::timeout(PATIENCE, ConnectionOf::<S>::connect(&self.url.0)).await {
            Ok(connected) => self.ask(connected),
            Err(_) => Err(self.url.error(&"no answer within ten seconds")),
        }
    }

    /// One connection to a database that has our tables.
    pub(super) async fn records(&self) -> Result<ConnectionOf<S>, Error> {
        let mut connection = self.connection().await?;
        if self.ask(S::has_schema(&mut connection).await)? {
            return Ok(connection);
        }
        Err(self.url.error(&"the table idempotency_records is missing or outdated: run `idem migrate`"))
    }

    /// What a statement gave, or its error in the words of this program.
    pub(super) fn ask<T, E: fmt::Display>(&self, result: Result<T, E>) -> Result<T, Error> {
        result.map_err(|error| self.url.error(&error))
    }
}

/// A command, written once for all databases.
pub(super) trait Job {
    /// Which database, and in which form.
    fn target(&self) -> &Target;

    /// Does it.
    fn run<S: Inspect>(&self, database: &Database<'_, S>) -> impl Future<Output = Result<Answer, Error>>;
}

/// Runs `job` on the database that its URL names: the one place that knows which there are.
pub(super) fn run<J: Job>(job: &J) -> Result<Answer, Error> {
    let url = &job.target().database_url;
    match url.scheme() {
        #[cfg(feature = "sqlite")]
        "sqlite" => on::<sqlx::Sqlite, J>(url, job),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => on::<sqlx::Postgres, J>(url, job),
        #[cfg(feature = "mysql")]
        "mysql" | "mariadb" => on::<sqlx::MySql, J>(url, job),
        scheme => Err(Error::Usage(format!(
            "the database URL begins with {scheme:?}: this program knows sqlite:, postgres: and mysql:, as far as \
             it was built with them"
        ))),
    }
}

fn on<S: Inspect, J: Job>(url: &DatabaseUrl, job: &J) -> Result<Answer, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::Usage(format!("no runtime: {error}")))?;
    runtime.block_on(job.run(&Database::<S> { url, store: PhantomData }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_form_of_a_url_shows_its_password() {
        for url in [
            "postgres://ann:s3cret@db.example:5432/shop?sslmode=require",
            "postgres://db.example/shop?user=ann&password=s3cret",
            "postgres://ann:s3cret@x/y@db.example/shop",
            "postgres://ann:1/s3cret@db.example/shop",
            "postgres://ann:x/s3cret@db.example/shop",
        ] {
            let url = DatabaseUrl::from(url.to_owned());
            let shown = format!("{url} {url:?} {}", url.error(&"refused"));
            assert!(!shown.contains("s3cret"), "{shown}");
        }
        let url = DatabaseUrl::from("postgres://ann:s3cret@db.example:5432/shop?sslmode=require".to_owned());
        assert_eq!(url.to_string(), "postgres://ann@db.example:5432/shop");
    }

    #[test]
    fn a_password_in_a_message_of_the_server_is_taken_out() {
        for url in ["postgres://ann:s3cret@x/y", "postgres://x/y?password=s3cret"] {
            let error = DatabaseUrl::from(url.to_owned()).error(&"no user with s3cret");
            assert!(error.to_string().ends_with("no user with ***"), "{error}");
        }
    }
}
