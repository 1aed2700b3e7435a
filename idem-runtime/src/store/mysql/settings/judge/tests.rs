//! One setting after the other is made unsafe.

use super::*;

fn found(changed: &[(&str, &str)]) -> Vec<UnsafeSetting> {
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
    judge(&pairs.collect())
}

fn names(changed: &[(&str, &str)]) -> Vec<&'static str> {
    found(changed).iter().map(|setting| setting.name).collect()
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
}

#[test]
fn a_galera_node_must_wait_for_the_others_and_never_answer_without_quorum() {
    for (bits, refused) in [("0", true), ("1", true), ("2", true), ("4", true), ("3", false), ("7", false)] {
        let names = names(&[("wsrep_on", "ON"), ("wsrep_sync_wait", bits)]);
        assert_eq!(names == ["wsrep_sync_wait"], refused, "{bits}: {names:?}");
    }
    let dirty = [("wsrep_on", "ON"), ("wsrep_sync_wait", "7"), ("wsrep_dirty_reads", "ON")];
    assert_eq!(names(&dirty), ["wsrep_dirty_reads"]);
}

#[test]
fn an_operator_can_vouch_for_the_power_of_galera_nodes_and_for_nothing_less() {
    let at = |level: &str, galera: &str| {
        let flush = ("innodb_flush_log_at_trx_commit", level);
        let found = found(&[flush, ("wsrep_on", galera), ("wsrep_sync_wait", "7")]);
        found.iter().map(|setting| setting.acceptable).collect::<Vec<_>>()
    };
    assert_eq!(at("1", "ON"), [false; 0]);
    assert_eq!(at("2", "ON"), [true]);
    assert_eq!(at("0", "ON"), [false]);
    assert_eq!(at("2", "OFF"), [false], "a single server has nobody to get it back from");
}

#[test]
fn semi_synchronous_replication_must_not_turn_itself_off() {
    for word in ["master", "source"] {
        let [enabled, timeout, status] =
            ["enabled", "timeout", "status"].map(|end| format!("rpl_semi_sync_{word}_{end}"));
        let at = |millis: &str, on: &str, sync: &str| {
            let settings = [
                (enabled.as_str(), "ON"),
                (timeout.as_str(), millis),
                (status.as_str(), on),
                ("log_bin", "ON"),
                ("sync_binlog", sync),
            ];
            let found = found(&settings);
            assert!(found.iter().all(|setting| setting.acceptable));
            found.iter().map(|setting| setting.name.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(at("4294967295", "ON", "1"), [""; 0]);
        assert_eq!(at("10000", "ON", "1"), std::slice::from_ref(&timeout));
        assert_eq!(at("4294967295", "OFF", "1"), std::slice::from_ref(&status));
        assert_eq!(at("4294967295", "ON", "100"), ["sync_binlog"]);
    }
}

#[test]
fn the_text_says_what_to_write_and_where() {
    let text = found(&[("wsrep_on", "ON")])[0].to_string();
    assert!(
        text.starts_with("wsrep_sync_wait is 0, set it to 7 (by `wsrep_sync_wait = 7` under [mysqld]"),
        "{text}"
    );
    assert!(text.contains("after_connect"), "{text}");
}
