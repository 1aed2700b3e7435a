//! Several nodes of one cluster: the settings of each, and how far their clocks are apart.

use std::time::Duration;

use idem_runtime::store::{ConnectionOf, Inspect};

use super::{Args, Finding, local};
use crate::operate::Error;
use crate::operate::database::Database;
use crate::operate::span::words;

/// Between which two values the clock of a node is ahead of ours, in microseconds.
type Ahead = (i64, i64);

impl Args {
    /// What the other nodes say, and whose clock differs from the first one's by too much.
    pub(super) async fn compare_nodes<S: Inspect>(
        &self,
        first: &Database<'_, S>,
        conn: &mut ConnectionOf<S>,
    ) -> Result<Vec<Finding>, Error> {
        let mut findings = Vec::new();
        if self.nodes.is_empty() {
            return Ok(findings);
        }
        let reference = ahead(first, conn).await?;
        for url in &self.nodes {
            let node = Database::<S>::beside(url);
            let mut connection = node.connection().await?;
            for setting in node.ask(S::unsafe_settings(&mut connection).await)? {
                let message = format!("{node}: an acknowledged answer could be lost: {setting}");
                findings.push(Finding { check: "settings", message });
            }
            let apart = apart(reference, ahead(&node, &mut connection).await?);
            if apart > self.lease / 10 {
                let (apart, lease) = (words(apart), words(self.lease));
                let message = format!(
                    "{node}: its clock and that of {first} are {apart} apart, more than a tenth of a lease of {lease}: \
                     a node that is ahead takes leases over that are still held"
                );
                findings.push(Finding { check: "clock", message });
            }
        }
        Ok(findings)
    }
}

async fn ahead<S: Inspect>(node: &Database<'_, S>, conn: &mut ConnectionOf<S>) -> Result<Ahead, Error> {
    // The first question also prepares the statement, which would count as distance.
    node.ask(S::now(conn).await)?;
    let before = local();
    let now = node.ask(S::now(conn).await)?;
    let [before, now, after] = [before, now, local()].map(idem_runtime::Timestamp::as_micros);
    Ok((now - after, now - before))
}

/// By how much two clocks differ at least.
fn apart(one: Ahead, other: Ahead) -> Duration {
    let micros = (one.0 - other.1).max(other.0 - one.1).max(0);
    Duration::from_micros(micros.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_apart_only_by_what_the_questions_cannot_have_taken() {
        assert_eq!(apart((0, 10), (5, 20)), Duration::ZERO);
        assert_eq!(apart((0, 10), (15, 20)), Duration::from_micros(5));
        assert_eq!(apart((15, 20), (0, 10)), Duration::from_micros(5));
    }
}
