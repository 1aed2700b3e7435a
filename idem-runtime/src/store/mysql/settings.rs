//! The settings of a server and a session under which a promise would not hold.

use std::collections::HashMap;

use sqlx::Row;
use sqlx::mysql::MySqlConnection;

use super::sql;
use crate::store::{StoreResult, UnsafeSetting};

pub(super) async fn unsafe_settings(conn: &mut MySqlConnection) -> StoreResult<Vec<UnsafeSetting>> {
    let rows = sqlx::query(sql::SETTINGS).fetch_all(&mut *conn).await?;
    let mut settings = HashMap::new();
    for row in rows {
        let name: String = row.try_get_unchecked(0)?;
        settings.insert(name.to_ascii_lowercase(), row.try_get_unchecked::<String, _>(1)?);
    }
    let mut found = judge(&settings);
    let engine: Option<String> = sqlx::query_scalar(sql::ENGINE).fetch_optional(conn).await?;
    if let Some(value) = engine.filter(|engine| !engine.eq_ignore_ascii_case("InnoDB")) {
        found.push(UnsafeSetting { name: "the engine of idempotency_records", value, wanted: "InnoDB" });
    }
    Ok(found)
}

/// Settings that the server does not know are none.
fn judge(settings: &HashMap<String, String>) -> Vec<UnsafeSetting> {
    let value = |name: &str| settings.get(name).map_or("", String::as_str);
    let is = |name: &str, wanted: &str| value(name).eq_ignore_ascii_case(wanted);
    let mut found = Vec::new();
    let mut refuse_if = |refused: bool, name: &'static str, wanted: &'static str| {
        if refused {
            found.push(UnsafeSetting { name, value: value(name).to_owned(), wanted });
        }
    };
    // Without it a claim would not be committed, and with it a long key could be cut.
    refuse_if(is("autocommit", "OFF"), "autocommit", "ON");
    let strict =
        value("sql_mode").split(',').any(|mode| mode == "STRICT_TRANS_TABLES" || mode == "STRICT_ALL_TABLES");
    refuse_if(settings.contains_key("sql_mode") && !strict, "sql_mode", "a list with STRICT_TRANS_TABLES");

    // A duplicate could be given the answer of a transaction that is then rolled back.
    for name in ["transaction_isolation", "tx_isolation"] {
        refuse_if(is(name, "READ-UNCOMMITTED"), name, "READ-COMMITTED or higher");
    }

    let flush = "innodb_flush_log_at_trx_commit";
    refuse_if(settings.contains_key(flush) && !is(flush, "1"), flush, "1");
    refuse_if(is("log_bin", "ON") && is("sync_binlog", "0"), "sync_binlog", "1");
    refuse_if(is("innodb_doublewrite", "OFF"), "innodb_doublewrite", "ON");

    for name in ["read_only", "transaction_read_only", "tx_read_only"] {
        refuse_if(is(name, "ON") || is(name, "1"), name, "OFF, by connecting to the primary");
    }
    if is("wsrep_on", "ON") {
        // Reads and updates must see what other nodes have committed.
        let waits = value("wsrep_sync_wait").parse::<u32>().is_ok_and(|bits| bits & 3 == 3);
        refuse_if(!waits, "wsrep_sync_wait", "7");
        refuse_if(is("wsrep_dirty_reads", "ON"), "wsrep_dirty_reads", "OFF");
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(changed: &[(&str, &str)]) -> Vec<&'static str> {
        let good = [
            ("autocommit", "ON"),
            ("sql_mode", "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"),
            ("innodb_flush_log_at_trx_commit", "1"),
            ("innodb_doublewrite", "ON"),
            ("log_bin", "OFF"),
            ("sync_binlog", "0"),
            ("read_only", "OFF"),
            ("tx_read_only", "OFF"),
            ("tx_isolation", "READ-COMMITTED"),
            ("wsrep_on", "OFF"),
            ("wsrep_sync_wait", "0"),
        ];
        let pairs = good.iter().chain(changed).map(|&(name, value)| (name.to_owned(), value.to_owned()));
        judge(&pairs.collect()).iter().map(|setting| setting.name).collect()
    }

    #[test]
    fn each_setting_that_breaks_a_promise_is_named_and_no_other() {
        assert!(names(&[]).is_empty());
        assert_eq!(names(&[("innodb_flush_log_at_trx_commit", "2")]), ["innodb_flush_log_at_trx_commit"]);
        assert_eq!(names(&[("sql_mode", "NO_ENGINE_SUBSTITUTION")]), ["sql_mode"]);
        assert!(names(&[("sql_mode", "ANSI,STRICT_ALL_TABLES")]).is_empty());
        assert_eq!(names(&[("autocommit", "OFF")]), ["autocommit"]);
        for name in ["tx_isolation", "transaction_isolation"] {
            assert_eq!(names(&[(name, "READ-UNCOMMITTED")]), [name]);
            assert!(names(&[(name, "SERIALIZABLE")]).is_empty());
        }
        assert_eq!(names(&[("log_bin", "ON")]), ["sync_binlog"]);
        assert_eq!(names(&[("innodb_doublewrite", "OFF")]), ["innodb_doublewrite"]);
        assert_eq!(names(&[("read_only", "ON")]), ["read_only"]);
        assert_eq!(names(&[("transaction_read_only", "ON")]), ["transaction_read_only"]);
        assert_eq!(names(&[("wsrep_on", "ON")]), ["wsrep_sync_wait"]);
        assert_eq!(
            names(&[("wsrep_on", "ON"), ("wsrep_sync_wait", "7"), ("wsrep_dirty_reads", "ON")]),
            ["wsrep_dirty_reads"]
        );
    }
}
