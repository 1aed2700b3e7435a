//! What `idem doctor` looks for among the events.

use std::time::Duration;

use idem_runtime::Timestamp;
use idem_runtime::store::{ConnectionOf, EventStatus, Inspect};

use super::stats::Totals;
use crate::operate::Error;
use crate::operate::database::Database;
use crate::operate::span::words;

/// An event that waits longer than this waits for somebody.
const PATIENCE: Duration = Duration::from_hours(1);

/// What would keep an event from its handlers; nothing where there is no outbox, which the schema's check tells.
pub(in crate::operate) async fn check<S: Inspect>(
    database: &Database<'_, S>,
    connection: &mut ConnectionOf<S>,
) -> Result<Vec<String>, Error> {
    let mut found = Vec::new();
    if !database.ask(S::has_outbox(connection).await)? {
        return Ok(found);
    }
    let groups = database.ask(S::event_stats(connection).await)?;
    match Totals::of(&groups).dead {
        0 => {}
        dead => found.push(format!("{dead} events are dead: `idem outbox list --status dead` names them")),
    }
    let pending = groups.iter().filter(|group| group.status == EventStatus::Pending.as_str());
    if let Some(age) = pending.map(|group| age(group.oldest, group.now)).max().filter(|age| *age > PATIENCE) {
        let age = words(age);
        found.push(format!(
            "an event is pending since {age}: is a dispatcher running? `idem outbox list --status pending` says more"
        ));
    }
    Ok(found)
}

fn age(oldest: Timestamp, now: Timestamp) -> Duration {
    if now > oldest { oldest.until(now) } else { Duration::ZERO }
}
