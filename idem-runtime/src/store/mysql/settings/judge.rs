//! Which settings of MySQL, MariaDB and Galera are refused; settings that the server does not know are none.

use std::collections::HashMap;

use crate::store::UnsafeSetting;

type Settings = HashMap<String, String>;

/// 49 days: the most that every version takes, and as good as for ever.
const ENDLESS: u64 = 4_294_967_295;

fn value<'a>(settings: &'a Settings, name: &str) -> &'a str {
    settings.get(name).map_or("", String::as_str)
}

pub(super) fn is_on(settings: &Settings, name: &str) -> bool {
    let value = value(settings, name);
    value.eq_ignore_ascii_case("ON") || value == "1"
}

/// Whether reads, and updates too, see what other nodes have committed.
pub(super) fn waits(settings: &Settings) -> bool {
    value(settings, "wsrep_sync_wait").parse::<u32>().is_ok_and(|bits| bits & 3 == 3)
}

pub(super) fn is_semi_sync(settings: &Settings) -> bool {
    ["rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled"].iter().any(|name| is_on(settings, name))
}

pub(super) fn judge(settings: &Settings) -> Vec<UnsafeSetting> {
    let mut found = of_any_server(settings);
    if is_on(settings, "wsrep_on") {
        found.extend(of_galera(settings));
    }
    if is_semi_sync(settings) {
        found.extend(of_semi_sync(settings));
    }
    found
}

fn of_any_server(settings: &Settings) -> Vec<UnsafeSetting> {
    let is = |name: &str, wanted: &str| value(settings, name).eq_ignore_ascii_case(wanted);
    let mut found = Vec::new();
    let mut refuse_if = |refused: bool, name: &'static str, wanted: &'static str, by: &'static str| {
        if refused {
            found.push(UnsafeSetting::new(name, value(settings, name).to_owned(), wanted, by));
        }
    };
    // Without it a claim would not be committed, and with it a long key could be cut.
    refuse_if(is("autocommit", "OFF"), "autocommit", "ON", "`autocommit = ON` under [mysqld]");
    let mut modes = value(settings, "sql_mode").split(',');
    let strict = modes.any(|mode| mode == "STRICT_TRANS_TABLES" || mode == "STRICT_ALL_TABLES");
    refuse_if(
        settings.contains_key("sql_mode") && !strict,
        "sql_mode",
        "a list with STRICT_TRANS_TABLES",
        "`sql_mode = STRICT_TRANS_TABLES,...` under [mysqld]",
    );

    // A duplicate could be given the answer of a transaction that is then rolled back.
    for name in ["transaction_isolation", "tx_isolation"] {
        let by = "`transaction-isolation = READ-COMMITTED` under [mysqld]";
        refuse_if(is(name, "READ-UNCOMMITTED"), name, "READ-COMMITTED or higher", by);
    }

    let flush = "innodb_flush_log_at_trx_commit";
    let by = "`innodb_flush_log_at_trx_commit = 1` under [mysqld]";
    refuse_if(settings.contains_key(flush) && !is(flush, "1"), flush, "1", by);
    let by = "`sync_binlog = 1` under [mysqld]";
    refuse_if(is("log_bin", "ON") && is("sync_binlog", "0"), "sync_binlog", "1", by);
    let by = "`innodb_doublewrite = ON` under [mysqld]";
    refuse_if(is("innodb_doublewrite", "OFF"), "innodb_doublewrite", "ON", by);

    for name in ["read_only", "transaction_read_only", "tx_read_only"] {
        refuse_if(is_on(settings, name), name, "OFF", "connecting to the primary");
    }
    // A group that is certified in memory: a node may lose its last transactions while another one keeps them.
    if is_on(settings, "wsrep_on") && is(flush, "2") {
        let others = found.into_iter();
        found = others.map(|found| if found.name == flush { found.acceptable() } else { found }).collect();
    }
    found
}

fn of_galera(settings: &Settings) -> Vec<UnsafeSetting> {
    let mut found = Vec::new();
    if !waits(settings) {
        let name = "wsrep_sync_wait";
        let by = "`wsrep_sync_wait = 7` under [mysqld], or for the pool alone by \
                  `.after_connect(|connection, _| Box::pin(idem_runtime::mysql::wait_for_other_nodes(connection)))`";
        found.push(UnsafeSetting::new(name, value(settings, name).to_owned(), "7", by));
    }
    if is_on(settings, "wsrep_dirty_reads") {
        let by = "`wsrep_dirty_reads = OFF` under [mysqld]";
        found.push(UnsafeSetting::new("wsrep_dirty_reads", "ON".to_owned(), "OFF", by));
    }
    found
}

/// What makes a primary go on alone, so that whatever it then acknowledges is lost with it.
fn of_semi_sync(settings: &Settings) -> Vec<UnsafeSetting> {
    let mut found = Vec::new();
    for (name, by) in [
        ("rpl_semi_sync_master_timeout", "`rpl_semi_sync_master_timeout = 4294967295` under [mysqld]"),
        ("rpl_semi_sync_source_timeout", "`rpl_semi_sync_source_timeout = 4294967295` under [mysqld]"),
    ] {
        let timeout = settings.get(name).and_then(|timeout| timeout.parse::<u64>().ok());
        if timeout.is_some_and(|timeout| timeout < ENDLESS) {
            found.push(UnsafeSetting::new(name, value(settings, name).to_owned(), "4294967295", by));
        }
    }
    for name in ["rpl_semi_sync_master_status", "rpl_semi_sync_source_status"] {
        if value(settings, name).eq_ignore_ascii_case("OFF") {
            let by = "letting a replica with semi-synchronous replication connect";
            found.push(UnsafeSetting::new(name, "OFF".to_owned(), "ON", by));
        }
    }
    let sync = value(settings, "sync_binlog");
    // Zero is refused of any server that writes a binary log.
    if !matches!(sync, "" | "0" | "1") {
        let by = "`sync_binlog = 1` under [mysqld]";
        found.push(UnsafeSetting::new("sync_binlog", sync.to_owned(), "1", by));
    }
    found.into_iter().map(UnsafeSetting::acceptable).collect()
}

#[cfg(test)]
mod tests;
