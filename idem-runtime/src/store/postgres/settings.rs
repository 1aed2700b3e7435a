//! The settings of a server and a session under which a promise would not hold.

use sqlx::Row;
use sqlx::postgres::PgConnection;

use super::sql;
use crate::store::{StoreResult, UnsafeSetting};

/// What is refused: the setting, its values, the value that is wanted, and where it is set.
const REFUSED: [(&str, &[&str], &str, &str); 4] = [
    // With synchronous standbys, `local` would acknowledge what a fail-over loses.
    (
        "synchronous_commit",
        &["off", "local"],
        "on",
        "`synchronous_commit = on` in postgresql.conf, and `ALTER ROLE ... RESET synchronous_commit` where a \
         role has its own",
    ),
    ("fsync", &["off"], "on", "`fsync = on` in postgresql.conf"),
    ("full_page_writes", &["off"], "on", "`full_page_writes = on` in postgresql.conf"),
    (
        "transaction_read_only",
        &["on"],
        "off",
        "`default_transaction_read_only = off`, or by connecting to the primary",
    ),
];

pub(super) async fn unsafe_settings(conn: &mut PgConnection) -> StoreResult<Vec<UnsafeSetting>> {
    let row = sqlx::query(sql::SETTINGS).fetch_one(conn).await?;
    // Everything else that a standby says of itself follows from that.
    if row.try_get("in_recovery")? {
        let by =
            "connecting to the primary: this server is a standby, which takes no claim and may lag behind";
        return Ok(vec![UnsafeSetting::new("pg_is_in_recovery", "true".to_owned(), "false", by)]);
    }
    let mut found = Vec::new();
    for (name, refused, wanted, by) in REFUSED {
        let value: String = row.try_get(name)?;
        if refused.contains(&value.as_str()) {
            found.push(UnsafeSetting::new(name, value, wanted, by));
        }
    }
    Ok(found)
}
