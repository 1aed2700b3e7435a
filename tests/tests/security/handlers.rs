//! A handler of a secret event, once for each database: keys differ, as a key is unique in a program.

use idem_runtime::outbox::Delivery;
use idem_runtime::outbox_handler;
use idem_tests::Fixture;

/// Handlers of one database; `$key` is one of its own.
macro_rules! handler {
    ($module:ident, $fixture:ty, $key:literal) => {
        mod $module {
            use idem_runtime::$module::Mutation;

            use super::*;

            /// Writes what it was told, so that a test sees it in a table of the application.
            #[outbox_handler(event = "test.secret", version = 1, handler_key = $key)]
            async fn note(delivery: &Delivery<String>, mutation: &mut Mutation) -> Result<(), String> {
                let told = format!("{} {}", delivery.payload(), delivery.header("trace").unwrap());
                <$fixture>::effect(mutation, &told).await.map_err(|error| error.to_string())
            }
        }
    };
}

handler!(sqlite, idem_tests::OnSqlite, "note-s");
#[cfg(feature = "postgres")]
handler!(postgres, idem_tests::OnPostgres, "note-p");
#[cfg(feature = "mysql")]
handler!(mysql, idem_tests::OnMysql, "note-m");
