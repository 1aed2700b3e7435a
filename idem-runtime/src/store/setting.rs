//! A setting of a database under which a promise would not hold.

use std::fmt;

/// A database's setting that breaks a promise.
///
/// Its text names the setting, its value, and what to write where:
///
/// ```text
/// wsrep_sync_wait is 0, set it to 7 (by `wsrep_sync_wait = 7` under [mysqld], or ...)
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnsafeSetting {
    /// The setting's name.
    pub name: &'static str,
    /// Its present value.
    pub value: String,
    /// What to set it to.
    pub wanted: &'static str,
    /// Where to set it, such as the line of the server's configuration.
    pub by: &'static str,
    /// Whether the risk depends on what no program sees, so that
    /// [`accept_setting`](crate::GuardBuilder::accept_setting) takes the operator's word.
    pub acceptable: bool,
}

impl UnsafeSetting {
    #[cfg(any(feature = "mysql", feature = "postgres", feature = "sqlite"))]
    pub(super) fn new(name: &'static str, value: String, wanted: &'static str, by: &'static str) -> Self {
        Self { name, value, wanted, by, acceptable: false }
    }

    #[cfg(feature = "mysql")]
    pub(super) fn acceptable(self) -> Self {
        Self { acceptable: true, ..self }
    }
}

impl fmt::Display for UnsafeSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, set it to {} (by {}", self.name, self.value, self.wanted, self.by)?;
        if self.acceptable {
            write!(f, "; whoever knows better accepts it by name, as docs/clusters.md says")?;
        }
        f.write_str(")")
    }
}

/// Compares the rows of a table of errors with those of a page: `| codes | meaning | why |`.
#[cfg(all(test, any(feature = "mysql", feature = "postgres")))]
pub(super) fn documented(page: &str, table: impl Iterator<Item = (super::Fault, Vec<String>)>) {
    let meaning = |fault| match fault {
        super::Fault::Again | super::Fault::Refused => "definite",
        super::Fault::Locked => "locked",
        super::Fault::Aborted => "aborted",
        super::Fault::Unknown => "unknown",
    };
    let rows: Vec<(&str, String)> = table.map(|(fault, codes)| (meaning(fault), codes.join(", "))).collect();
    let cells = page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        Some((cells.next()?, cells.next()?))
    });
    let written: Vec<(&str, String)> = cells
        .filter(|(_, meaning)| ["definite", "locked", "aborted", "unknown"].contains(meaning))
        .map(|(codes, meaning)| (meaning, codes.to_owned()))
        .collect();
    assert_eq!(written, rows);
}
