//! The handlers under test, once for each database: keys differ, as a key is unique in a program.

use idem_runtime::outbox::{Delivery, Event};
use idem_runtime::outbox_handler;
use idem_tests::Fixture;

use crate::{Stage, Task};

/// Handlers of one database; `$suffix` stands behind their keys.
macro_rules! handlers {
    ($module:ident, $fixture:ty, $rows:literal, $outside:literal, $first:literal, $second:literal, $once:literal, $ends:literal) => {
        mod $module {
            use idem_runtime::$module::{Claim, Mutation};

            use super::*;

            /// Writes one row per event.
            #[outbox_handler(event = "test.rows", version = 1, handler_key = $rows)]
            async fn rows(
                delivery: &Delivery<Task>,
                stage: &Stage,
                mutation: &mut Mutation,
            ) -> Result<(), String> {
                let task = delivery.payload();
                <$fixture>::effect(mutation, &task.name).await.map_err(|error| error.to_string())?;
                stage.begin("rows", task).await
            }

            /// Counts how often it begins.
            #[outbox_handler(event = "test.outside", version = 1, handler_key = $outside)]
            async fn outside(delivery: &Delivery<Task>, claim: &Claim, stage: &Stage) -> Result<(), String> {
                assert_eq!(claim.downstream_key("mail").as_str().len(), 64);
                stage.begin("outside", delivery.payload()).await
            }

            /// Two handlers of one event.
            #[outbox_handler(event = "test.two", version = 1, handler_key = $first)]
            async fn first(
                delivery: &Delivery<Task>,
                stage: &Stage,
                mutation: &mut Mutation,
            ) -> Result<(), String> {
                let task = Task { failures: 0, ..delivery.payload().clone() };
                <$fixture>::effect(mutation, &task.name).await.map_err(|error| error.to_string())?;
                stage.begin("first", &task).await
            }

            #[outbox_handler(event = "test.two", version = 1, handler_key = $second)]
            async fn second(
                delivery: &Delivery<Task>,
                stage: &Stage,
                mutation: &mut Mutation,
            ) -> Result<(), String> {
                let task = delivery.payload();
                <$fixture>::effect(mutation, &task.name).await.map_err(|error| error.to_string())?;
                stage.begin("second", task).await
            }

            /// Fails for good.
            #[outbox_handler(event = "test.once", version = 1, handler_key = $once, retry_failed = false)]
            async fn once(
                delivery: &Delivery<Task>,
                stage: &Stage,
                mutation: &mut Mutation,
            ) -> Result<(), String> {
                let _ = mutation;
                stage.begin("once", delivery.payload()).await
            }

            /// Publishes another event, and ends the transaction that it was given when it is told to fail.
            #[outbox_handler(event = "test.ends", version = 1, handler_key = $ends)]
            async fn ends(
                delivery: &Delivery<Task>,
                stage: &Stage,
                mutation: &mut Mutation,
            ) -> sqlx::Result<()> {
                let task = delivery.payload();
                <$fixture>::effect(mutation, &task.name).await?;
                let next = task.clone();
                mutation
                    .publish(Event::new(
                        "test.rows",
                        1,
                        &Task { name: format!("{}-next", task.name), failures: 0, ..next },
                    ))
                    .await?;
                if stage.begin("ends", task).await.is_err() {
                    sqlx::raw_sql("COMMIT").execute(&mut **mutation).await?;
                }
                Ok(())
            }
        }
    };
}

handlers!(sqlite, idem_tests::OnSqlite, "rows-s", "outside-s", "first-s", "second-s", "once-s", "ends-s");
#[cfg(feature = "postgres")]
handlers!(postgres, idem_tests::OnPostgres, "rows-p", "outside-p", "first-p", "second-p", "once-p", "ends-p");
#[cfg(feature = "mysql")]
handlers!(mysql, idem_tests::OnMysql, "rows-m", "outside-m", "first-m", "second-m", "once-m", "ends-m");
