//! The SQL of the maintenance.

/// A row that another holds under a live lease is left alone: then nothing is written.
pub(in crate::store) const HOLD: &str = concat!(
    "INSERT INTO idempotency_maintenance AS m (name, holder, locked_until) VALUES ('sweep', ?1, ",
    now!(),
    " + ?2 * 1000) ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, ",
    "locked_until = excluded.locked_until WHERE m.holder = excluded.holder OR m.locked_until <= ",
    now!()
);

/// As `EXPIRE`, from a moment on.
pub(in crate::store) const EXPIRE_SINCE: &str = concat!(
    "UPDATE idempotency_records SET status = 'expired', locked_until = NULL, updated_at = ",
    now!(),
    ", revision = revision + 1 WHERE rowid IN (SELECT rowid FROM idempotency_records ",
    "WHERE status <> 'expired' AND sweep_after > ",
    now!(),
    " - ?2 * 1000 AND ",
    over!(now!()),
    " ORDER BY sweep_after LIMIT ?1)"
);

/// The sum is made under the write lock, so that none of two processes is lost.
pub(in crate::store) const ADD_TRAFFIC: &str = "INSERT INTO idempotency_traffic AS t (day, route, executed, replayed) \
     VALUES (date('now'), ?1, ?2, ?3) ON CONFLICT (day, route) DO UPDATE SET \
     executed = t.executed + excluded.executed, replayed = t.replayed + excluded.replayed";

/// Days that nobody adds to any more.
pub(in crate::store) const FORGET_TRAFFIC: &str =
    "DELETE FROM idempotency_traffic WHERE day <= date('now', '-' || ?1 || ' days')";
