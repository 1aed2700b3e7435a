//! What the errors of MySQL, MariaDB, Galera and TiDB mean for a statement of ours: one table.
//!
//! docs/database-errors.md has the same rows; a test compares them.

use sqlx::mysql::MySqlDatabaseError;

use crate::store::Fault;

/// The unique index refused a second row: somebody has the key, and a read says who.
pub(super) const DUPLICATE: u16 = 1062;
/// The table is missing.
pub(super) const NO_TABLE: u16 = 1146;
/// A column is missing.
pub(super) const NO_COLUMN: u16 = 1054;
/// There is no savepoint of that name.
pub(super) const NO_SAVEPOINT: u16 = 1305;

/// Numbers that are not here are refused; what has no number, a broken connection, is unknown.
const TABLE: &[(Fault, &[u16])] = &[
    // Deadlock or, at a Galera node, a lost certification, also at COMMIT; changed since the snapshot; a group's
    // certification. The server has rolled back.
    (Fault::Again, &[1213, 1020, 3101]),
    // A Galera node without quorum, or one that is joining, does nothing.
    (Fault::Again, &[1047]),
    // Too many connections, a full disk, table or lock table.
    (Fault::Again, &[1021, 1040, 1114, 1203, 1206, 1226, 1637]),
    // Read-only: a replica, or a primary that was one; another server may be the primary.
    (Fault::Again, &[1290, 1792, 1836]),
    // TiDB: a write conflict, or a commit that it has rolled back.
    (Fault::Again, &[8002, 8005, 8022, 9007]),
    // Lock wait; at a Galera node also a read that could not be proved fresh. And the lock that NOWAIT did not get.
    (Fault::Locked, &[1205, 3572]),
    // A COMMIT that failed half-way; at a Galera node also one that was cut off while it replicated.
    (Fault::Unknown, &[1180, 1181, 3100]),
    // The server ended the statement or the session, or is going down.
    (Fault::Unknown, &[1053, 1105, 1317, 1927, 1969, 3024, 4031]),
    // The connection broke on its way.
    (Fault::Unknown, &[1152, 1158, 1159, 1160, 1161, 1184, 2006, 2013]),
    // A disk that failed.
    (Fault::Unknown, &[1026, 1030, 1815]),
    // TiDB: undetermined, or its storage or its clock did not answer in time.
    (Fault::Unknown, &[8501, 9001, 9002, 9003, 9004, 9005]),
];

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
    let row = TABLE.iter().find(|(_, numbers)| numbers.contains(&number));
    row.map_or(Fault::Refused, |(fault, _)| *fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_sent_again_only_when_it_certainly_had_no_effect() {
        for deadlock_or_away in [1213, 1020, 1047, 1290, 1792, 1836, 9007] {
            assert_eq!(of_number(deadlock_or_away), Fault::Again, "{deadlock_or_away}");
        }
        for in_doubt in [1053, 1180, 1317, 1927, 2006, 2013, 8501] {
            assert_eq!(of_number(in_doubt), Fault::Unknown, "{in_doubt}");
        }
        assert_eq!(of_number(1205), Fault::Locked);
        assert_eq!(of_number(DUPLICATE), Fault::Refused, "the row is there: a read follows");
        assert_eq!(of_number(1064), Fault::Refused, "a syntax error stays one");
        let lost = sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into());
        assert_eq!(classify(&lost), Fault::Unknown);
    }

    #[test]
    fn the_page_has_the_rows_of_the_table() {
        let page = include_str!("../../../../docs/database-errors.md");
        let (_, page) = page.split_once("## MySQL").unwrap();
        crate::store::setting::documented(
            page,
            TABLE.iter().map(|(fault, numbers)| (*fault, numbers.iter().map(ToString::to_string).collect())),
        );
    }
}
