//! How each fault is carried out, and whether it really struck.

use std::time::Duration;

use idem_test_support::proxy::Fault as OnTheWay;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::Result;
use super::slot::Slot;
use crate::plan::{Fault, Point, Statement};
use crate::service::Action;

/// How long a fault waits for its moment.
const MOMENT: Duration = Duration::from_millis(1500);

impl Slot {
    /// Where it struck; `None` when its moment did not come.
    pub(super) async fn strike(&mut self, fault: Fault) -> Result<Option<String>> {
        match fault {
            Fault::Kill(point) => self.kill(point).await,
            Fault::Freeze(point, span) => self.freeze(point, span).await,
            Fault::KillDuring(statement, arrives) => self.kill_during(statement, arrives).await,
            Fault::CutBeforeCommit => Ok(self.cut(OnTheWay::CutBeforeCommit).await),
            Fault::CutAfterCommit => Ok(self.cut(OnTheWay::CutAfterCommit).await),
            Fault::CutReply(statement) => {
                Ok(self.cut(OnTheWay::CutReplyTo(text(statement).to_owned())).await)
            }
            Fault::Latency(latency) => Ok(self.slow(latency).await),
            Fault::Exhaust(span) => Ok(self.refuses(&format!("exhaust/{}", span.as_millis())).await),
            Fault::Full(span) => Ok(self.refuses(&format!("full/{}", span.as_millis())).await),
            Fault::FileLimit(span) => self.limit_files(span).await,
            Fault::Skew(seconds) => {
                let off = self.restart(seconds).await?;
                Ok((off.abs() > seconds.abs() / 2 && off != 0).then(|| format!("{off} s off")))
            }
            // Of the server, not of a process.
            Fault::RestartFast | Fault::RestartImmediate => Ok(None),
        }
    }

    async fn kill(&mut self, point: Point) -> Result<Option<String>> {
        let place = self.reaches(point, Action::Kill).await;
        if place.is_some() {
            self.restart(0).await?;
        }
        Ok(place)
    }

    async fn freeze(&mut self, point: Point, span: Duration) -> Result<Option<String>> {
        let place = self.reaches(point, Action::Freeze).await;
        if place.is_some() {
            let address = self.round.address(self.number).take();
            tokio::time::sleep(span).await;
            self.process.resume();
            *self.round.address(self.number) = address;
        }
        Ok(place)
    }

    /// Arms the point and waits for the process to get there.
    async fn reaches(&mut self, point: Point, action: Action) -> Option<String> {
        let action = if action == Action::Kill { "kill" } else { "freeze" };
        self.control(&format!("arm/{}/{action}", point.name()), MOMENT).await?;
        if let Ok(line) = tokio::time::timeout(MOMENT, self.process.next_line()).await {
            return line;
        }
        self.control("disarm", MOMENT).await;
        tokio::time::timeout(Duration::from_millis(50), self.process.next_line()).await.ok().flatten()
    }

    async fn kill_during(&mut self, statement: Statement, arrives: bool) -> Result<Option<String>> {
        let Some(proxy) = &self.proxy else { return Ok(None) };
        let held = match statement {
            Statement::Commit => OnTheWay::HoldCommit,
            _ => OnTheWay::HoldStatement(text(statement).to_owned()),
        };
        proxy.arm(held);
        let struck = tokio::time::timeout(MOMENT, proxy.fired()).await.is_ok();
        if struck {
            *self.round.address(self.number) = None;
            self.process.kill().await;
        }
        proxy.heal();
        // What was held meanwhile is let go in either case.
        if arrives || !struck {
            proxy.release();
        } else {
            proxy.cut();
        }
        if struck {
            self.restart(0).await?;
        }
        Ok(struck.then(String::new))
    }

    async fn cut(&self, fault: OnTheWay) -> Option<String> {
        let proxy = self.proxy.as_ref()?;
        proxy.arm(fault);
        let struck = tokio::time::timeout(MOMENT, proxy.fired()).await.is_ok();
        if !struck {
            proxy.heal();
        }
        struck.then(String::new)
    }

    async fn slow(&self, latency: Duration) -> Option<String> {
        let proxy = self.proxy.as_ref()?;
        proxy.slow_down(latency);
        tokio::time::sleep(Duration::from_millis(400)).await;
        proxy.slow_down(Duration::ZERO);
        Some(format!("{latency:?}"))
    }

    /// Half of what SQLite's log is now is the most that any file of the process may be.
    async fn limit_files(&self, span: Duration) -> Result<Option<String>> {
        let size = std::fs::metadata(self.place.write_ahead_log()).map_or(0, |file| file.len());
        let pid = Pid::from_raw(self.process.id());
        let limit = |current| prlimit(pid, Resource::Fsize, Rlimit { current, maximum: None });
        limit(Some(size / 2))?;
        let refused = self.refuses(&format!("watch/{}", span.as_millis())).await;
        limit(None)?;
        Ok(refused)
    }

    /// Lets the process run out of something; it struck if the process refused a request meanwhile.
    async fn refuses(&self, what: &str) -> Option<String> {
        let count = self.control(what, Duration::from_secs(10)).await?;
        (count != "0").then(|| format!("{count} requests refused"))
    }

    async fn control(&self, what: &str, patience: Duration) -> Option<String> {
        let address = (*self.round.address(self.number))?;
        let request = self.round.http.post(format!("http://{address}/control/{what}")).timeout(patience);
        request.send().await.ok()?.error_for_status().ok()?.text().await.ok()
    }
}

/// By what the proxy knows the statement.
fn text(statement: Statement) -> &'static str {
    match statement {
        Statement::Claim => "INTO idempotency_records",
        Statement::Complete => "UPDATE idempotency_records SET status = 'succeeded'",
        Statement::Commit => "COMMIT",
        Statement::Mark => "UPDATE idempotency_outbox_events SET delivered_to",
    }
}
