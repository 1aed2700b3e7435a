//! What the errors of MySQL and MariaDB mean for a statement of ours.

use sqlx::mysql::MySqlDatabaseError;

use crate::store::Fault;

/// The unique index refused a second row.
pub(super) const DUPLICATE: u16 = 1062;
/// The table is missing.
pub(super) const NO_TABLE: u16 = 1146;
/// A column is missing.
pub(super) const NO_COLUMN: u16 = 1054;
/// There is no savepoint of that name.
pub(super) const NO_SAVEPOINT: u16 = 1305;

/// The number of a server's error.
pub(super) fn number(error: &sqlx::Error) -> Option<u16> {
    Some(error.as_database_error()?.try_downcast_ref::<MySqlDatabaseError>()?.number())
}

/// Whether the server rolled back the whole transaction together with the statement that failed so.
pub(super) fn rolls_back(number: u16) -> bool {
    // Changed since the snapshot, lock wait (where the server is set so), lock table full, deadlock.
    matches!(number, 1020 | 1205 | 1206 | 1213)
}

pub(super) fn classify(error: &sqlx::Error) -> Fault {
    match (error, number(error)) {
        (_, Some(number)) => of_number(number),
        (sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed, _) => Fault::Unknown,
        _ => Fault::Refused,
    }
}

fn of_number(number: u16) -> Fault {
    match number {
        // Lock wait, and the lock that NOWAIT did not get.
        1205 | 3572 => Fault::Locked,
        // Changed since the snapshot, deadlock, certification lost in a group; too many connections, a full disk,
        // table or lock table; read-only, or a node that has left its cluster: another may be the primary.
        1020 | 1213 | 3101 | 1021 | 1040 | 1114 | 1203 | 1206 | 1226 | 1637 | 1047 | 1290 | 1792 | 1836 => {
            Fault::Again
        }
        // A COMMIT that failed half-way; a server that ended the statement or the session, or lost a disk; a
        // connection that broke on its way.
        1026
        | 1030
        | 1053
        | 1105
        | 1152
        | 1158..=1161
        | 1180
        | 1181
        | 1184
        | 1317
        | 1815
        | 1927
        | 1969
        | 2006
        | 2013
        | 3024
        | 3100
        | 4031 => Fault::Unknown,
        _ => Fault::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_sent_again_only_when_it_certainly_had_no_effect() {
        for deadlock_or_away in [1213, 1020, 1047, 1290, 1792, 1836] {
            assert_eq!(of_number(deadlock_or_away), Fault::Again, "{deadlock_or_away}");
        }
        for in_doubt in [1053, 1180, 1317, 1927, 2006, 2013] {
            assert_eq!(of_number(in_doubt), Fault::Unknown, "{in_doubt}");
        }
        assert_eq!(of_number(1205), Fault::Locked);
        assert_eq!(of_number(1064), Fault::Refused, "a syntax error stays one");
        let lost = sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into());
        assert_eq!(classify(&lost), Fault::Unknown);
    }
}
