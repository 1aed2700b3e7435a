//! `cargo xtask faults`: starts servers of its own, which it restarts when the driver asks for it, and the driver.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

use crate::server::Stop;
use crate::{Result, mariadb, packages, postgres};

/// What strikes what, and how often.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Options {
    /// A short run on each database, as a gate: less than two minutes in all.
    #[arg(long)]
    quick: bool,
    /// Fixes what strikes, in which order, and what the clients ask for.
    // With this one a quick run meets both kinds of restart on both servers.
    #[arg(long, default_value_t = 6)]
    seed: u64,
    /// Where to run.
    #[arg(long, default_value = "all", value_parser = ["sqlite", "postgres", "mariadb", "all"])]
    database: String,
    /// How many faults have to strike in all; 10,000 unless set, and 600 in a quick run.
    #[arg(long)]
    injections: Option<usize>,
    /// Print the beginning of the plan of this seed, and do nothing else.
    #[arg(long)]
    plan: bool,
    /// Serve one route without a guard: the run has to fail.
    #[arg(long = "break")]
    break_it: bool,
    /// The programs stand beside this one, built.
    #[arg(long)]
    built: bool,
}

const QUICK: &str = "600";

/// Runs the driver; whether it found nothing.
pub(crate) async fn run(root: &Path, options: &Options) -> Result<bool> {
    packages::install_missing().await?;
    let mut driver = Command::new(driver(root, options.built).await?);
    let databases = if options.database == "all" { "sqlite,postgres,mariadb" } else { &options.database };
    driver.args(["--database", databases, "--seed", &options.seed.to_string()]);
    if options.quick {
        driver.args(["--injections", QUICK, "--round-seconds", "22"]);
    }
    if let Some(injections) = options.injections {
        driver.args(["--injections", &injections.to_string()]);
    }
    if options.plan {
        driver.arg("--plan");
        return Ok(driver.status().await?.success());
    }
    if options.break_it {
        driver.arg("--break");
    }
    let mut postgres = None;
    if databases.contains("postgres") {
        postgres = Some(postgres::Server::start().await?);
    }
    let mut mariadb = None;
    if databases.contains("mariadb") {
        mariadb = Some(mariadb::Server::start().await?);
    }
    let (for_postgres, for_mariadb) =
        (TcpListener::bind("127.0.0.1:0").await?, TcpListener::bind("127.0.0.1:0").await?);
    if let Some(server) = &postgres {
        let control = for_postgres.local_addr()?.to_string();
        driver.args(["--postgres", &server.url(), "--postgres-control", &control]);
    }
    if let Some(server) = &mariadb {
        let control = for_mariadb.local_addr()?.to_string();
        driver.args(["--mariadb", &server.url(), "--mariadb-control", &control]);
    }
    let mut driver = driver.stdin(Stdio::null()).kill_on_drop(true).spawn()?;
    loop {
        tokio::select! {
            ended = driver.wait() => return Ok(ended?.success()),
            asked = for_postgres.accept() => if let Some(server) = &mut postgres {
                let mut asked = BufReader::new(asked?.0);
                server.restart(how(&mut asked).await?).await?;
                asked.write_all(b"ready\n").await?;
            },
            asked = for_mariadb.accept() => if let Some(server) = &mut mariadb {
                let mut asked = BufReader::new(asked?.0);
                server.restart(how(&mut asked).await?).await?;
                asked.write_all(b"ready\n").await?;
            },
        }
    }
}

/// Reads how the driver wants a server to be restarted.
async fn how(asked: &mut BufReader<TcpStream>) -> Result<Stop> {
    let mut line = String::new();
    asked.read_line(&mut line).await?;
    match line.trim() {
        "fast" => Ok(Stop::Fast),
        "immediate" => Ok(Stop::Immediate),
        other => Err(format!("a restart can be fast or immediate, not {other:?}").into()),
    }
}

/// Builds the driver and the service under test, and says where the driver is.
async fn driver(root: &Path, built: bool) -> Result<PathBuf> {
    if !built {
        let mut build = Command::new(env!("CARGO"));
        build.current_dir(root).args(["build", "--package", "idem-faults", "--bins"]);
        if !build.kill_on_drop(true).status().await?.success() {
            return Err("the driver could not be built".into());
        }
    }
    Ok(std::env::current_exe()?.with_file_name("faults"))
}
