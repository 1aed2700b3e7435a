//! Plays a client that forgets a part, completes an upload many times, and loses the service half-way.

use std::path::PathBuf;

use axum::http::{Method, StatusCode};
use data_encoding::HEXLOWER;
use example_support::{Call, Client, DemoError, Service, Summary, open, show};
use futures_util::future::{join, join_all};
use serde_json::json;
use sha2::{Digest, Sha256};
use sqlx::SqlitePool;
use uuid::Uuid;

use crate::complete::NAMED;
use crate::files::Files;

/// How many completions are sent at once.
const AT_ONCE: usize = 10;

/// Plays all steps.
pub(crate) async fn run(folder: PathBuf) -> Result<Summary, DemoError> {
    let service = Service::start(&folder, &[]).await?;
    let client = Client::new(service.authority())?;
    let (pool, files) = (open(&folder).await?, Files::open(&folder).await?);
    let mut demo = Demo { service, client, pool, files };
    let first = demo.begin("1", "holidays.jpg").await?;
    demo.complete_with_a_part_missing(first).await?;
    demo.complete_many_times(first).await?;
    let second = demo.begin("6", "birthday.jpg").await?;
    demo.kill_the_service_in(second).await?;
    let (stored, double) = demo.count_files().await?;
    Ok(demo.client.summary(stored, double))
}

struct Demo {
    service: Service,
    client: Client,
    pool: SqlitePool,
    files: Files,
}

impl Demo {
    async fn begin(&self, step: &str, name: &str) -> Result<Uuid, DemoError> {
        let call = Call::json("/uploads", &json!({ "name": name, "parts": 3 })).key(name);
        let begun = self.client.send(&call).await?;
        let again = self.client.send(&call).await?;
        let id = begun.member("upload_id").parse().map_err(|_| DemoError::unexpected("an id", &begun))?;
        DemoError::unless(again.replayed, "an upload, twice", &again)?;
        show(step, "an upload, begun twice", "201, and replayed: one upload");
        Ok(id)
    }

    async fn put(&self, upload: Uuid, part: usize) -> Result<(), DemoError> {
        let path = format!("/uploads/{upload}/parts/{part}");
        let call = Call::new(Method::PUT, path, content(part)).by_user();
        let answer = self.client.send(&call).await?;
        DemoError::unless(answer.status == StatusCode::NO_CONTENT, "a part", &answer)
    }

    async fn complete_with_a_part_missing(&self, upload: Uuid) -> Result<(), DemoError> {
        self.put(upload, 1).await?;
        self.put(upload, 3).await?;
        for _ in 0..2 {
            let answer = self.client.send(&completion(upload)).await?;
            let refused = answer.status == StatusCode::CONFLICT && !answer.replayed;
            DemoError::unless(refused, "a missing part", &answer)?;
        }
        show("2", "completed, and part 2 is missing", "409, and the key is not used up");
        self.put(upload, 2).await
    }

    async fn complete_many_times(&self, upload: Uuid) -> Result<(), DemoError> {
        let call = completion(upload);
        let (mut first, mut replayed) = (0, 0);
        for answer in join_all((0..AT_ONCE).map(|_| self.client.send_until_answered(&call))).await {
            let answer = answer?;
            DemoError::unless(answer.status == StatusCode::CREATED, "a completion", &answer)?;
            *if answer.replayed { &mut replayed } else { &mut first } += 1;
        }
        DemoError::unless(first == 1, "completions at once", (first, replayed))?;
        show(
            "3",
            &format!("completed {AT_ONCE} times at once"),
            &format!("{first} first, {replayed} replayed"),
        );
        let again = self.client.send(&call).await?;
        DemoError::unless(again.replayed, "a completion again", &again)?;
        show("4", "completed once more", "replayed");
        let other = Call::json(format!("/uploads/{upload}/complete"), &json!({ "sha256": "00" }));
        let answer = self.client.send(&other).await?;
        DemoError::unless(answer.is("IDEMPOTENCY_KEY_CONFLICT"), "another file", &answer)?;
        show("5", "completed as another file", "422, nothing done");
        self.expect_file(upload).await
    }

    async fn kill_the_service_in(&mut self, upload: Uuid) -> Result<(), DemoError> {
        for part in 1..=3 {
            self.put(upload, part).await?;
        }
        let stalled = completion(upload).header("x-stall", "1");
        let killing = async {
            self.service.wait_for(NAMED).await?;
            self.service.kill().await
        };
        let (broken, killed) = join(self.client.send(&stalled), killing).await;
        killed?;
        DemoError::unless(broken.is_err(), "a completion of a killed service", &broken)?;
        show("7", "completed", "the service is killed between file and row");
        self.service.restart(&[]).await?;
        let answer = self.client.send_until_answered(&completion(upload)).await?;
        DemoError::unless(answer.status == StatusCode::CREATED && !answer.replayed, "a retry", &answer)?;
        show("", "completed again, after a restart", "201: the same file, and its row");
        self.expect_file(upload).await
    }

    async fn expect_file(&self, upload: Uuid) -> Result<(), DemoError> {
        let file = tokio::fs::read(self.files.whole(upload)).await?;
        DemoError::unless(file == whole(), "the content of a file", file.len())
    }

    /// How many rows there are, and how many files have more than one.
    async fn count_files(&self) -> Result<(u64, u64), DemoError> {
        let counts: Vec<(i64,)> =
            sqlx::query_as("SELECT count(*) FROM files GROUP BY upload_id").fetch_all(&self.pool).await?;
        DemoError::unless(counts.len() == 2, "files with a row", counts.len())?;
        let rows = counts.iter().map(|(count,)| count.unsigned_abs()).sum();
        Ok((rows, counts.iter().filter(|(count,)| *count > 1).count() as u64))
    }
}

fn completion(upload: Uuid) -> Call {
    let sha256 = HEXLOWER.encode(&Sha256::digest(whole()));
    Call::json(format!("/uploads/{upload}/complete"), &json!({ "sha256": sha256 }))
}

fn content(part: usize) -> Vec<u8> {
    vec![b'0' + u8::try_from(part).unwrap_or_default(); 100_000 * part]
}

fn whole() -> Vec<u8> {
    (1..=3).flat_map(content).collect()
}
