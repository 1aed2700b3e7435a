//! The settings of a server and a session under which a promise would not hold.

mod judge;

use std::collections::HashMap;

use sqlx::Row;
use sqlx::mysql::MySqlConnection;

use super::sql;
use crate::store::{StoreResult, UnsafeSetting};

pub(super) async fn unsafe_settings(conn: &mut MySqlConnection) -> StoreResult<Vec<UnsafeSetting>> {
    let mut settings = pairs(conn, sql::SETTINGS).await?;
    if judge::is_semi_sync(&settings) {
        settings.extend(pairs(conn, sql::SEMI_SYNC).await?);
    }
    let mut found = judge::judge(&settings);
    let engine: Option<String> = sqlx::query_scalar(sql::ENGINE).fetch_optional(conn).await?;
    if let Some(value) = engine.filter(|engine| !engine.eq_ignore_ascii_case("InnoDB")) {
        let by = "`ALTER TABLE idempotency_records ENGINE = InnoDB`";
        found.push(UnsafeSetting::new("the engine of idempotency_records", value, "InnoDB", by));
    }
    Ok(found)
}

/// Makes the session of a Galera node wait for what other nodes have committed, as the public function says.
pub(crate) async fn wait_for_other_nodes(conn: &mut MySqlConnection) -> StoreResult<()> {
    let settings = pairs(conn, sql::WAITS).await?;
    if judge::is_on(&settings, "wsrep_on") && !judge::waits(&settings) {
        sqlx::raw_sql(sql::WAIT).execute(conn).await?;
    }
    Ok(())
}

/// Names, in small letters, and values.
async fn pairs(conn: &mut MySqlConnection, sql: &'static str) -> StoreResult<HashMap<String, String>> {
    let rows = sqlx::raw_sql(sql).fetch_all(conn).await?;
    let pair = |row: sqlx::mysql::MySqlRow| {
        let name: String = row.try_get_unchecked(0)?;
        Ok((name.to_ascii_lowercase(), row.try_get_unchecked(1)?))
    };
    rows.into_iter().map(pair).collect()
}
