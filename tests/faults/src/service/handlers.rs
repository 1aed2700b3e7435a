//! Who gets the events: a handler that writes a row and one that calls the provider, on each database.

use idem_runtime::outbox::Delivery;
use idem_runtime::outbox_handler;
use uuid::Uuid;

use super::answer::Failure;
use super::app::App;
use super::rows::Rows;
use crate::plan::Point;
use crate::routes::{Effect, Part};

// rustfmt moves the attributes of handlers in a macro further to the right each time.
#[rustfmt::skip]
macro_rules! handlers {
    ($module:ident, $database:ty, $rows:literal, $calls:literal) => {
        mod $module {
            use idem_runtime::$module::{Claim, Mutation};

            use super::*;

            #[outbox_handler(
                event = "faults.placed",
                version = 1,
                handler_key = $rows,
                lease = "1s",
                max_run = "2s"
            )]
            async fn rows(
                delivery: &Delivery<Effect>,
                app: &App<$database>,
                mutation: &mut Mutation,
            ) -> Result<(), Failure> {
                let token = Uuid::new_v4().to_string();
                let effect = Effect { part: Part::Delivered, token, ..delivery.payload().clone() };
                <$database>::write(mutation, &effect).await?;
                app.points.reach(Point::InHandler, &effect.payload);
                Ok(())
            }

            #[outbox_handler(
                event = "faults.placed",
                version = 1,
                handler_key = $calls,
                lease = "1s",
                max_run = "10s",
                on_lapse = "rerun"
            )]
            async fn calls(
                delivery: &Delivery<Effect>,
                app: &App<$database>,
                claim: &Claim,
            ) -> Result<(), Failure> {
                let Effect { owner, payload, .. } = delivery.payload().clone();
                app.partner.call(&claim.downstream_key("call"), owner, &payload, Part::Called).await?;
                app.points.reach(Point::InHandler, &payload);
                Ok(())
            }
        }
    };
}

handlers!(sqlite, sqlx::Sqlite, "rows-s", "calls-s");
handlers!(postgres, sqlx::Postgres, "rows-p", "calls-p");
handlers!(mysql, sqlx::MySql, "rows-m", "calls-m");
