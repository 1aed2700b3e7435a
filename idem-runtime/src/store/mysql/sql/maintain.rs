//! The SQL of the maintenance.

/// The holder is set first, so that the second assignment sees whose the row now is. A row that another
/// holds under a live lease stays as it is.
pub(in crate::store) const HOLD: &str = concat!(
    "INSERT INTO idempotency_maintenance (name, holder, locked_until) VALUES ('sweep', ?, ",
    now!(),
    " + 1000 * CAST(? AS SIGNED)) ON DUPLICATE KEY UPDATE holder = IF(locked_until <= ",
    now!(),
    ", VALUES(holder), holder), locked_until = IF(holder = VALUES(holder), ",
    now!(),
    " + 1000 * CAST(? AS SIGNED), locked_until)"
);

/// Who holds it, or held it last.
pub(in crate::store) const HOLDER: &str = "SELECT holder FROM idempotency_maintenance WHERE name = 'sweep'";

/// As `EXPIRE`, from a moment on.
pub(in crate::store) const EXPIRE_SINCE: &str = concat!(
    patient!("1", "UPDATE"),
    "idempotency_records SET status = 'expired', locked_until = NULL, updated_at = ",
    now!(),
    ", revision = revision + 1 WHERE status <> 'expired' AND sweep_after > ",
    now!(),
    " - 1000 * CAST(? AS SIGNED) AND ",
    over!(""),
    " ORDER BY sweep_after LIMIT ?"
);

/// The sum is made where the row is locked, so that none of two processes is lost.
pub(in crate::store) const ADD_TRAFFIC: &str = "INSERT INTO idempotency_traffic (day, route, executed, replayed) \
     VALUES (UTC_DATE(), ?, ?, ?) ON DUPLICATE KEY UPDATE executed = executed + VALUES(executed), \
     replayed = replayed + VALUES(replayed)";

/// Days that nobody adds to any more.
pub(in crate::store) const FORGET_TRAFFIC: &str =
    "DELETE FROM idempotency_traffic WHERE day <= UTC_DATE() - INTERVAL ? DAY";
