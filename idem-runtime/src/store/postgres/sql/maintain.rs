//! The SQL of the maintenance.

/// A row that another holds under a live lease is left alone: then nothing is written.
pub(in crate::store) const HOLD: &str = "INSERT INTO idempotency_maintenance AS m (name, holder, locked_until) \
     VALUES ('sweep', $1, statement_timestamp() + interval '1 millisecond' * $2::bigint) \
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, locked_until = excluded.locked_until \
     WHERE m.holder = excluded.holder OR m.locked_until <= statement_timestamp()";

/// As `EXPIRE`, from a moment on.
pub(in crate::store) const EXPIRE_SINCE: &str = concat!(
    "UPDATE idempotency_records SET status = 'expired', locked_until = NULL, ",
    "updated_at = statement_timestamp(), revision = revision + 1 ",
    "WHERE ctid = ANY(ARRAY(SELECT ctid FROM idempotency_records WHERE status <> 'expired' AND ",
    "sweep_after > statement_timestamp() - interval '1 millisecond' * $2::bigint AND ",
    over!("statement_timestamp()"),
    " ORDER BY sweep_after LIMIT $1 FOR UPDATE SKIP LOCKED))"
);

/// The sum is made where the row is locked, so that none of two processes is lost.
pub(in crate::store) const ADD_TRAFFIC: &str = "INSERT INTO idempotency_traffic AS t (day, route, executed, replayed) \
     VALUES ((statement_timestamp() AT TIME ZONE 'UTC')::date, $1, $2, $3) \
     ON CONFLICT (day, route) DO UPDATE SET executed = t.executed + excluded.executed, \
     replayed = t.replayed + excluded.replayed";

/// Days that nobody adds to any more.
pub(in crate::store) const FORGET_TRAFFIC: &str = "DELETE FROM idempotency_traffic \
     WHERE day <= (statement_timestamp() AT TIME ZONE 'UTC')::date - $1::integer";
