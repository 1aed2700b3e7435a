//! Plays a client that repeats itself, and kills the service with a task at its worst moments.

use std::path::PathBuf;
use std::time::Duration;

use axum::http::StatusCode;
use example_support::{Call, Client, DemoError, Service, Summary, open, show};
use futures_util::future::join_all;
use serde_json::json;
use sqlx::SqlitePool;

use crate::elsewhere::Elsewhere;
use crate::exports;
use crate::mails::{IN_EFFECT, STALL, TAKEN};

/// How many duplicates of the first invoice are sent at once.
const DUPLICATES: usize = 30;
/// How often the queue is asked whether a task is done, and the pause between.
const LOOKS: u32 = 600;
const PAUSE: Duration = Duration::from_millis(100);

/// Plays all steps.
pub(crate) async fn run(folder: PathBuf) -> Result<Summary, DemoError> {
    let service = Service::start(&folder, &[]).await?;
    let client = Client::new(service.authority())?;
    let (pool, elsewhere) = (open(&folder).await?, Elsewhere::open(&folder).await?);
    let mut demo = Demo { service, client, pool, elsewhere };
    demo.send_many_at_once().await?;
    demo.kill_the_worker("2", "anna", TAKEN, "the worker is killed when it has taken the task").await?;
    demo.kill_the_worker("3", "otto", IN_EFFECT, "the worker is killed before its commit").await?;
    demo.kill_the_submission("4", "sales", exports::BOUND, "killed before its task is submitted").await?;
    demo.kill_the_submission("5", "stock", exports::SUBMITTED, "killed after its task is submitted").await?;
    demo.count_effects().await
}

struct Demo {
    service: Service,
    client: Client,
    pool: SqlitePool,
    elsewhere: Elsewhere,
}

impl Demo {
    async fn send_many_at_once(&self) -> Result<(), DemoError> {
        let call = invoice("emma");
        let (mut first, mut replayed) = (0, 0);
        for answer in join_all((0..DUPLICATES).map(|_| self.client.send_until_answered(&call))).await {
            // All of them have the same task: the client compares the answers byte for byte.
            let answer = answer?;
            DemoError::unless(answer.status == StatusCode::CREATED, "an invoice", &answer)?;
            *if answer.replayed { &mut replayed } else { &mut first } += 1;
        }
        DemoError::unless(first == 1, "invoices at once", (first, replayed))?;
        let came = format!("{first} first, {replayed} replayed: one task");
        show("1", &format!("an invoice, {DUPLICATES} times at once"), &came);
        let attempts = self.wait_for_the_queue().await?;
        DemoError::unless(attempts == 1, "the runs of a task", attempts)?;
        show("", "its task", "done: one mail");
        Ok(())
    }

    async fn kill_the_worker(
        &mut self,
        step: &str,
        customer: &str,
        place: &'static str,
        what: &str,
    ) -> Result<(), DemoError> {
        self.service.kill().await?;
        self.service.restart(&[(STALL, place)]).await?;
        let call = invoice(customer);
        let answer = self.client.send_until_answered(&call).await?;
        DemoError::unless(answer.status == StatusCode::CREATED, "an invoice", &answer)?;
        self.service.wait_for(place).await?;
        self.service.kill().await?;
        show(step, "an invoice", what);
        self.service.restart(&[]).await?;
        let again = self.client.send_until_answered(&call).await?;
        DemoError::unless(again.replayed, "an invoice again", &again)?;
        show("", "the invoice again", "replayed: the same task");
        let attempts = self.wait_for_the_queue().await?;
        // Else the worker was not killed in it, and this step shows nothing.
        DemoError::unless(attempts > 1, "the runs of a task", attempts)?;
        show("", "its task, with another worker", "run again, done: one mail");
        Ok(())
    }

    async fn kill_the_submission(
        &mut self,
        step: &str,
        report: &str,
        place: &'static str,
        what: &str,
    ) -> Result<(), DemoError> {
        let call = Call::json("/exports", &json!({ "report": report })).key(report);
        let first = call.clone().header(exports::STALL, place);
        let (sent, stalled) = tokio::join!(self.client.send(&first), async {
            self.service.wait_for(place).await?;
            self.service.kill().await
        });
        stalled?;
        DemoError::unless(sent.is_err(), "an export without an answer", &sent)?;
        show(step, "an export", what);
        let before = self.elsewhere.tasks(report).await?;
        DemoError::unless(before.len() == usize::from(place == exports::SUBMITTED), "tasks", &before)?;
        self.service.restart(&[]).await?;
        let bound: String =
            sqlx::query_scalar("SELECT task_id FROM idempotency_records WHERE idempotency_key = ?1")
                .bind(report)
                .fetch_one(&self.pool)
                .await?;
        let again = self.client.send_until_answered(&call).await?;
        let same = again.status == StatusCode::ACCEPTED && again.member("task_id") == bound;
        DemoError::unless(same, "an export again", &again)?;
        let after = self.elsewhere.tasks(report).await?;
        let expected = [(bound, i64::from(place == exports::SUBMITTED) + 1)];
        DemoError::unless(after == expected, "the tasks of an export", (&after, &expected))?;
        show("", "the export again", "submitted under the same id: one task");
        Ok(())
    }

    /// Waits until every task is done; the attempts of the newest one.
    async fn wait_for_the_queue(&self) -> Result<i64, DemoError> {
        for _ in 0..LOOKS {
            let open = "SELECT count(*) FROM tasks WHERE done_at IS NULL";
            let open: i64 = sqlx::query_scalar(open).fetch_one(&self.pool).await?;
            if open == 0 {
                let newest = "SELECT attempts FROM tasks ORDER BY rowid DESC LIMIT 1";
                return Ok(sqlx::query_scalar(newest).fetch_one(&self.pool).await?);
            }
            tokio::time::sleep(PAUSE).await;
        }
        let tasks: Vec<(String, i64, Option<String>)> =
            sqlx::query_as("SELECT id, attempts, last_error FROM tasks").fetch_all(&self.pool).await?;
        Err(DemoError::unexpected("the queue, for a minute", tasks))
    }

    /// Counts invoices, tasks, mails and exports; each customer and each report has one of each.
    async fn count_effects(&self) -> Result<Summary, DemoError> {
        let counts: Vec<(String, i64, i64)> = sqlx::query_as(
            "SELECT customer, count(*), (SELECT count(*) FROM mails WHERE mails.customer = invoices.customer) \
             FROM invoices GROUP BY customer",
        )
        .fetch_all(&self.pool)
        .await?;
        let tasks: i64 = sqlx::query_scalar("SELECT count(*) FROM tasks").fetch_one(&self.pool).await?;
        let missing = counts.iter().any(|(_, _, mails)| *mails == 0) || counts.len() != 3;
        DemoError::unless(!missing && tasks == 3, "invoices, mails and tasks", (&counts, tasks))?;
        let mut double =
            counts.iter().filter(|(_, invoices, mails)| *invoices > 1 || *mails > 1).count() as u64;
        let mut effects: i64 = counts.iter().map(|(_, _, mails)| mails).sum();
        for report in ["sales", "stock"] {
            let submitted = self.elsewhere.tasks(report).await?.len();
            double += submitted.saturating_sub(1) as u64;
            effects += i64::try_from(submitted).unwrap_or(i64::MAX);
        }
        Ok(self.client.summary(effects.unsigned_abs(), double))
    }
}

fn invoice(customer: &str) -> Call {
    Call::json("/invoices", &json!({ "customer": customer, "cents": 1999 })).key(customer)
}
