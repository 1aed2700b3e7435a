//! Runs the embedded migrations, in a table of our own beside the application's.

use std::borrow::Cow;

use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Where the versions are kept: two libraries that share sqlx's default table stop each other.
pub(super) const TABLE: &str = "_idem_migrations";

/// One migration: its version, its name and its text.
pub(super) type Step = (i64, &'static str, &'static str);

/// A migrator over `steps`, which are in order and frozen once released.
pub(super) fn migrator(steps: &'static [Step]) -> Migrator {
    let migrations = steps
        .iter()
        .map(|&(version, name, sql)| {
            Migration::new(
                version,
                Cow::Borrowed(name),
                MigrationType::Simple,
                sqlx::SqlSafeStr::into_sql_str(sql),
                false,
            )
        })
        .collect();
    let mut migrator = Migrator::with_migrations(migrations);
    migrator.dangerous_set_table_name(TABLE);
    migrator
}
