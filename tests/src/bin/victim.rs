//! A process that races or dies on command: the tests read its marker lines, then kill or freeze it.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use idem_runtime::{Claim, Error, IdempotencyMutationGuard, Mode, Mutation, OnLapse, Outcome, Success};
#[cfg(feature = "mysql")]
use idem_tests::OnMysql;
#[cfg(feature = "postgres")]
use idem_tests::OnPostgres;
use idem_tests::{Fixture, OnSqlite, key, policy, scope};
use serde::{Deserialize, Serialize, Serializer};
use sqlx::Pool;
use sqlx::pool::PoolOptions;

#[derive(Parser)]
struct Arguments {
    /// The database, with the tables of a `Fixture`.
    #[arg(long)]
    database_url: String,
    #[command(subcommand)]
    part: Part,
}

#[derive(Subcommand)]
enum Part {
    /// Prints `ready`, waits for the business row `go`, then asks for every key many times at once.
    Swarm(Swarm),
    /// Asks once, and stops where it was told to.
    Run(Run),
}

#[derive(Args)]
struct Swarm {
    /// Tells the answers of two processes apart.
    #[arg(long)]
    name: String,
    #[arg(long)]
    keys: usize,
    /// How many tasks ask for each key.
    #[arg(long)]
    tasks: usize,
}

#[derive(Args, Clone)]
struct Run {
    key: String,
    #[arg(long)]
    external: bool,
    /// Never runs again after a lapse.
    #[arg(long)]
    refuse: bool,
    /// The body fails, if it comes to its end.
    #[arg(long)]
    fail: bool,
    #[arg(long, default_value_t = 30_000)]
    lease_ms: u64,
    #[arg(long, value_enum)]
    stop: Stop,
}

/// Where the process stands still, after it has printed the name of the place.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Stop {
    /// Bound, in external mode, to the task `task-9`; nothing else has happened.
    Bound,
    /// The same, and the task is submitted.
    Submitted,
    /// In the body, after it wrote.
    Written,
    /// As `Written`, until the business row `go` is there.
    WrittenUntilGo,
    /// After the body, while the guard reads its value in order to record it.
    Recording,
    /// The call has returned.
    Returned,
    /// Nowhere.
    Never,
}

/// A text, at whose serialisation the process may stop: the last thing that the guard asks of a body.
#[derive(Deserialize)]
#[serde(from = "String")]
struct Answer {
    text: String,
    stop: bool,
}

impl From<String> for Answer {
    fn from(text: String) -> Self {
        Self { text, stop: false }
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.stop {
            println!("recording");
            loop {
                std::thread::park();
            }
        }
        serializer.serialize_str(&self.text)
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() {
    let Arguments { database_url, part } = Arguments::parse();
    if database_url.starts_with("sqlite:") {
        return play::<OnSqlite>(&database_url, part).await;
    }
    #[cfg(feature = "mysql")]
    if database_url.starts_with("mysql:") {
        return play::<OnMysql>(&database_url, part).await;
    }
    #[cfg(feature = "postgres")]
    if database_url.starts_with("postgres") {
        return play::<OnPostgres>(&database_url, part).await;
    }
    panic!("built without the feature for this database");
}

async fn play<F: Fixture>(url: &str, part: Part) {
    // The guard refuses a database whose settings could lose an answer.
    let pool =
        PoolOptions::<F::S>::new().max_connections(4).connect(url).await.expect("the database is there");
    let guard = IdempotencyMutationGuard::builder(pool).build().await.expect("its tables were made");
    match part {
        Part::Swarm(swarm) => swarm.play::<F>(&guard).await,
        Part::Run(run) => run.play::<F>(&guard).await,
    }
}

async fn wait_for_go<F: Fixture>(pool: &Pool<F::S>) {
    while F::effects(pool, "go").await == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

impl Swarm {
    async fn play<F: Fixture>(self, guard: &IdempotencyMutationGuard<F::S>) {
        let Self { name, keys, tasks } = self;
        let policy = policy().wait(Duration::from_mins(5));
        println!("ready");
        wait_for_go::<F>(guard.pool()).await;
        let name = Arc::new(name);
        let asked: Vec<_> = (0..keys * tasks)
            .map(|number| {
                let key_name = format!("k{}", number % keys);
                let request = guard.request(scope(), key(&key_name)).of("book").expect("a text");
                let (row, value) = (key_name.clone(), format!("run by {name}, task {number}"));
                let asked = guard.run(&policy, request, async move |mutation: &mut Mutation<F::S>| {
                    F::effect(mutation, &row).await.expect("a business row can be written");
                    Ok::<_, Error>(Success::new(value))
                });
                tokio::spawn(async move { (key_name, asked.await) })
            })
            .collect();
        for asked in asked {
            match asked.await.expect("no task panics") {
                (key_name, Ok(answer)) => println!("answer {key_name} {}", answer.into_value()),
                (key_name, Err(error)) => println!("answer {key_name} error: {error:?}"),
            }
        }
    }
}

impl Run {
    async fn play<F: Fixture>(self, guard: &IdempotencyMutationGuard<F::S>) {
        let lease = Duration::from_millis(self.lease_ms);
        let on_lapse = if self.refuse { OnLapse::Refuse } else { OnLapse::Rerun };
        let mode = if self.external { Mode::External } else { Mode::Transactional };
        let policy = policy().lease(lease).on_lapse(on_lapse);
        let request = guard.request(scope(), key(&self.key)).of("book").expect("a text");
        let pool = guard.pool();
        let ran: Result<Outcome<Answer>, Error> = match mode {
            Mode::Transactional => {
                guard
                    .run(&policy, request, async |mutation: &mut Mutation<F::S>| {
                        F::effect(mutation, "victim").await.expect("a business row can be written");
                        self.stop_in_body::<F>(pool, "").await
                    })
                    .await
            }
            Mode::External => {
                guard
                    .run_external(&policy, request, async |claim: &Claim<F::S>| {
                        if matches!(self.stop, Stop::Bound | Stop::Submitted) {
                            let task = claim.get_or_bind_task(|| "task-9".to_owned()).await?;
                            if self.stop == Stop::Bound {
                                println!("bound");
                                return pending().await;
                            }
                            let mut queue = pool.acquire().await.expect("a connection is free");
                            F::effect(&mut *queue, &task).await.expect("a task can be submitted");
                            println!("submitted");
                            return pending().await;
                        }
                        let charge = claim.downstream_key("charge");
                        let mut provider = pool.acquire().await.expect("a connection is free");
                        F::effect(&mut *provider, charge.as_str()).await.expect("a charge can be written");
                        drop(provider);
                        self.stop_in_body::<F>(pool, charge.as_str()).await
                    })
                    .await
            }
        };
        if self.stop == Stop::Returned {
            println!("returned");
            return pending().await;
        }
        match ran {
            Ok(answer) => println!(
                "answer replayed={} attempt={} {}",
                answer.is_replay(),
                answer.attempt(),
                answer.value().text
            ),
            Err(error) => println!("answer error: {error:?}"),
        }
    }

    async fn stop_in_body<F: Fixture>(
        &self,
        pool: &Pool<F::S>,
        charge: &str,
    ) -> Result<Success<Answer>, Error> {
        match self.stop {
            Stop::Written => {
                println!("written {charge}");
                pending::<()>().await;
            }
            Stop::WrittenUntilGo => {
                println!("written {charge}");
                wait_for_go::<F>(pool).await;
            }
            Stop::Bound | Stop::Submitted | Stop::Recording | Stop::Returned | Stop::Never => {}
        }
        if self.fail {
            return Err(Error::Failed);
        }
        Ok(Success::new(Answer { text: "of the victim".to_owned(), stop: self.stop == Stop::Recording }))
    }
}
