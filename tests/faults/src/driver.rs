//! Starts the processes, sends the load, strikes, and lets the checker judge.

mod ask;
mod clients;
mod place;
mod provider;
mod round;
mod server;
mod slot;
mod strike;
mod tally;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::plan::{Database, Plan};
use tally::Tally;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What to run.
#[derive(Debug, Clone, Parser)]
pub struct Options {
    /// The databases, in this order.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "sqlite,postgres,mariadb")]
    pub database: Vec<Database>,
    /// Fixes what strikes, in which order, and what the clients ask for.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How many faults must have struck in all, spread over the databases.
    #[arg(long, default_value_t = 10_000)]
    pub injections: usize,
    /// How many faults strike before everything is checked and a new database begins.
    #[arg(long, default_value_t = 250)]
    pub per_round: usize,
    /// The longest that faults strike in one round, in seconds, if fewer did.
    #[arg(long, default_value_t = 120)]
    pub round_seconds: u64,
    /// Print the beginning of the plan and do nothing else.
    #[arg(long)]
    pub plan: bool,
    /// Serve orders without a guard: the checker has to find it.
    #[arg(long = "break")]
    pub break_it: bool,
    /// A superuser of the PostgreSQL server.
    #[arg(long)]
    pub postgres: Option<String>,
    /// Where that server is restarted: a line `fast` or `immediate`, answered by `ready`.
    #[arg(long)]
    pub postgres_control: Option<SocketAddr>,
    /// A superuser of the MariaDB server.
    #[arg(long)]
    pub mariadb: Option<String>,
    /// Likewise.
    #[arg(long)]
    pub mariadb_control: Option<SocketAddr>,
    /// The service, unless it is beside this program.
    #[arg(long)]
    pub service: Option<PathBuf>,
}

/// Runs everything; the last line that it prints is the sum.
pub async fn main(options: Options) -> ExitCode {
    println!("seed {}", options.seed);
    if options.plan {
        print_plan(&options);
        return ExitCode::SUCCESS;
    }
    let mut tally = Tally::default();
    let outcome = run(&options, &mut tally).await;
    if let Err(error) = &outcome {
        eprintln!("error: {error}");
    }
    tally.print();
    if outcome.is_ok() && tally.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn run(options: &Options, tally: &mut Tally) -> Result<()> {
    let share = options.injections.div_ceil(options.database.len().max(1));
    for database in &options.database {
        let mut plans = round::Plans::new(options.seed, *database);
        let mut struck = 0;
        for number in 1.. {
            let wanted = options.per_round.min(share - struck);
            let round = round::run(options, *database, &mut plans, number, wanted).await?;
            struck += tally.add(*database, number, &round);
            if struck >= share || round.struck.len() < wanted && options.round_seconds < 60 {
                break;
            }
        }
    }
    Ok(())
}

fn print_plan(options: &Options) {
    for database in &options.database {
        for process in 0..round::PROCESSES {
            for planned in Plan::of_process(options.seed, *database, process).take(20) {
                println!(
                    "{} process {process}: after {:?} {:?}",
                    database.name(),
                    planned.pause,
                    planned.fault
                );
            }
        }
        if *database != Database::Sqlite {
            for planned in Plan::of_server(options.seed, *database).take(10) {
                println!("{} server: after {:?} {:?}", database.name(), planned.pause, planned.fault);
            }
        }
    }
}
