//! The service: its state, who may call it, and its routes.

use std::error::Error;
use std::path::PathBuf;

use example_support::{Flags, User, open, serve};
use idem_runtime::axum::{IdempotencyState, Router, exempt, post, put};
use idem_runtime::sqlite::Guard;
use idem_runtime::{KeyError, Scope};
use uuid::Uuid;

use crate::files::Files;
use crate::{complete, create};

/// `files` has no unique key: that an upload has one row there is the guard's work alone.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS uploads (
        upload_id text PRIMARY KEY, tenant text NOT NULL, owner text NOT NULL,
        name text NOT NULL, parts integer NOT NULL
    );
    CREATE TABLE IF NOT EXISTS files (upload_id text NOT NULL, name text NOT NULL, bytes integer NOT NULL);
";

/// What every handler can reach.
#[derive(Clone)]
pub(crate) struct App {
    guard: Guard,
    pub(crate) files: Files,
}

impl App {
    /// Whether the upload is there and belongs to the user.
    pub(crate) async fn owns(&self, user: &User, upload: Uuid) -> sqlx::Result<bool> {
        let owned: i64 = sqlx::query_scalar(
            "SELECT count(*) FROM uploads WHERE upload_id = ?1 AND tenant = ?2 AND owner = ?3",
        )
        .bind(upload.to_string())
        .bind(&user.tenant)
        .bind(&user.name)
        .fetch_one(self.guard.pool())
        .await?;
        Ok(owned == 1)
    }
}

impl IdempotencyState for App {
    type Store = sqlx::Sqlite;
    type Identity = User;

    fn guard(&self) -> &Guard {
        &self.guard
    }

    fn scope(user: &User) -> Result<Scope, KeyError> {
        user.scope()
    }
}

/// Serves until Ctrl-C.
pub(crate) async fn run(flags: Flags, folder: PathBuf) -> Result<(), Box<dyn Error>> {
    let pool = open(&folder).await?;
    sqlx::raw_sql(TABLES).execute(&pool).await?;
    let guard = Guard::builder(pool).migrate().build().await?;
    let app = App { guard: guard.clone(), files: Files::open(&folder).await? };
    let router = Router::new()
        .route("/uploads", post(create::create))
        .route(
            "/uploads/{upload_id}/parts/{part}",
            put(exempt("the same part again is written over itself", create::put_part)),
        )
        .route("/uploads/{upload_id}/complete", post(complete::complete))
        .with_state(app)
        .into_axum();
    serve(flags.listen, router, guard).await
}
