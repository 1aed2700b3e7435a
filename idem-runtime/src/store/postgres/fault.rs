//! What the errors of PostgreSQL, CockroachDB and YugabyteDB mean for a statement of ours: one table.
//!
//! docs/database-errors.md has the same rows; a test compares them.

use crate::store::Fault;

/// Codes, or the two characters of a whole class; the first row that fits holds.
///
/// Codes that are not here are refused; what has no code, a broken connection, is unknown.
const TABLE: &[(Fault, &[&str])] = &[
    // Deadlock or serialization failure, also at COMMIT: the server has rolled back.
    (Fault::Again, &["40001", "40P01"]),
    // Too many connections, a full disk, no memory.
    (Fault::Again, &["53"]),
    // Read-only: a standby, or a primary that was one; another server may be the primary.
    (Fault::Again, &["25006"]),
    // The row lock did not come in time.
    (Fault::Locked, &["55P03"]),
    // The transaction had failed before.
    (Fault::Aborted, &["25P02"]),
    // The server itself does not know whether a commit has landed.
    (Fault::Unknown, &["40003"]),
    // The server ended the statement or the session, or is going down.
    (Fault::Unknown, &["57014", "57P01", "57P02", "57P03", "57P05", "25P03"]),
    // The connection broke on its way; a disk failed; an internal error.
    (Fault::Unknown, &["08", "58", "XX000"]),
];

/// The code of a server's error.
pub(super) fn code(error: &sqlx::Error) -> Option<String> {
    error.as_database_error().and_then(sqlx::error::DatabaseError::code).map(std::borrow::Cow::into_owned)
}

pub(super) fn classify(error: &sqlx::Error) -> Fault {
    match error {
        sqlx::Error::Database(_) => code(error).map_or(Fault::Refused, |code| of_code(&code)),
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => Fault::Unknown,
        _ => Fault::Refused,
    }
}

fn of_code(code: &str) -> Fault {
    let fits = |listed: &&str| if listed.len() == 2 { code.starts_with(listed) } else { code == *listed };
    let row = TABLE.iter().find(|(_, codes)| codes.iter().any(fits));
    row.map_or(Fault::Refused, |(fault, _)| *fault)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_sent_again_only_when_it_certainly_had_no_effect() {
        for passing in ["40001", "40P01", "53300", "53100", "25006"] {
            assert_eq!(of_code(passing), Fault::Again, "{passing}");
        }
        for in_doubt in ["40003", "57014", "57P01", "57P02", "57P03", "25P03", "08006", "58030", "XX000"] {
            assert_eq!(of_code(in_doubt), Fault::Unknown, "{in_doubt}");
        }
        assert_eq!(of_code("55P03"), Fault::Locked);
        assert_eq!(of_code("25P02"), Fault::Aborted);
        for stays in ["23505", "42601", "XX001", "25001"] {
            assert_eq!(of_code(stays), Fault::Refused, "{stays}");
        }
        let lost = sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into());
        assert_eq!(classify(&lost), Fault::Unknown);
    }

    #[test]
    fn the_page_has_the_rows_of_the_table() {
        let page = include_str!("../../../../docs/database-errors.md");
        let (_, page) = page.split_once("## PostgreSQL").unwrap();
        let (page, _) = page.split_once("## MySQL").unwrap();
        crate::store::setting::documented(
            page,
            TABLE.iter().map(|(fault, codes)| (*fault, codes.iter().map(ToString::to_string).collect())),
        );
    }
}
