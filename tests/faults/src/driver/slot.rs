//! One process of the service, started again after each death, and what the plan has for it.

use std::fs::OpenOptions;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use idem_test_support::process::Process;
use idem_test_support::proxy::Proxy;
use tokio::process::Command;

use super::Result;
use super::ask::Round;
use super::place::Place;
use crate::plan::{Database, Plan};

/// Where Debian keeps the library that gives a program another clock, below the folder of the architecture.
const FAKETIME: &str = "faketime/libfaketimeMT.so.1";
const STARTS: usize = 100;

/// How a process is started.
#[derive(Clone)]
pub(super) struct Start {
    pub(super) service: PathBuf,
    pub(super) provider: String,
    pub(super) unguarded: bool,
}

pub(super) struct Slot {
    pub(super) number: usize,
    pub(super) round: Arc<Round>,
    pub(super) place: Arc<Place>,
    pub(super) proxy: Option<Proxy>,
    pub(super) process: Process,
    start: Start,
}

impl Slot {
    pub(super) async fn new(
        number: usize,
        round: Arc<Round>,
        place: Arc<Place>,
        start: Start,
    ) -> Result<Self> {
        let proxy = match place.database {
            Database::Sqlite => None,
            Database::Postgres => Some(Proxy::start(place.upstream()?)),
            Database::Mariadb => Some(Proxy::start_mysql(place.upstream()?)),
        };
        let (process, address, _) = launch(&start, &place, proxy.as_ref(), 0).await?;
        *round.address(number) = Some(address);
        Ok(Self { number, round, place, proxy, process, start })
    }

    /// Lets the plan strike until the round is over.
    pub(super) async fn run(mut self, plan: &mut Plan) -> Result<Self> {
        while !self.round.is_over() {
            let Some(planned) = plan.next() else { break };
            match tokio::time::timeout(planned.pause, self.process.next_line()).await {
                Err(_) => {}
                // A point that was reached while it was disarmed.
                Ok(Some(line)) => self.late(&line).await?,
                Ok(None) => self.died().await?,
            }
            if let Some(place) = self.strike(planned.fault).await? {
                self.round.struck(planned.fault.name(), format!("process {}: {place}", self.number));
            }
        }
        if let Some(proxy) = &self.proxy {
            proxy.heal();
            proxy.release();
            proxy.slow_down(Duration::ZERO);
        }
        Ok(self)
    }

    async fn late(&mut self, line: &str) -> Result<()> {
        tokio::time::sleep(Duration::from_millis(50)).await;
        self.process.resume();
        self.round.struck("a signal that came late".to_owned(), line.to_owned());
        if tokio::time::timeout(Duration::from_millis(50), self.process.next_line()).await.is_ok() {
            self.restart(0).await?;
        }
        Ok(())
    }

    /// A process that ends by itself is a defect of the service.
    async fn died(&mut self) -> Result<()> {
        let log = std::fs::read_to_string(self.place.log()).unwrap_or_default();
        let end: Vec<&str> = log.lines().rev().take(5).collect();
        eprintln!("process {} ended by itself: {end:?}", self.number);
        self.restart(0).await.map(drop)
    }

    /// Starts the process anew, with a clock that is wrong by these seconds; by how much it really is.
    pub(super) async fn restart(&mut self, skew: i64) -> Result<i64> {
        *self.round.address(self.number) = None;
        self.process.kill().await;
        let (process, address, off) = launch(&self.start, &self.place, self.proxy.as_ref(), skew).await?;
        self.process = process;
        *self.round.address(self.number) = Some(address);
        Ok(off)
    }
}

/// Starts until it listens: while the server is away it cannot.
async fn launch(
    start: &Start,
    place: &Place,
    proxy: Option<&Proxy>,
    skew: i64,
) -> Result<(Process, SocketAddr, i64)> {
    for _ in 0..STARTS {
        let url = proxy.map_or_else(|| place.url(), |proxy| place.url_through(&proxy.addr().to_string()));
        let mut command = Command::new(&start.service);
        command.args(["--database-url", &url, "--provider", &start.provider]);
        if start.unguarded {
            command.arg("--unguarded");
        }
        if let Some(library) = faketime().filter(|_| skew != 0) {
            command.env("LD_PRELOAD", library).env("FAKETIME", format!("{skew:+}s"));
            command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        command.stderr(Stdio::from(OpenOptions::new().create(true).append(true).open(place.log())?));
        let mut process = Process::start(command);
        let line = tokio::time::timeout(Duration::from_secs(20), process.next_line()).await;
        if let Ok(Some(line)) = line
            && let Some((address, clock)) =
                line.strip_prefix("listening on ").and_then(|l| l.split_once(" at "))
        {
            let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
            let off = clock.parse::<i64>()? - i64::try_from(now)?;
            return Ok((process, address.parse()?, off));
        }
        process.kill().await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(format!("the service does not start: {}", std::fs::read_to_string(place.log())?).into())
}

/// The library, where it is installed.
pub(super) fn faketime() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path());
    let folders = folders.chain([PathBuf::from("/usr/lib64"), PathBuf::from("/usr/lib")]);
    folders.map(|folder| folder.join(Path::new(FAKETIME))).find(|file| file.is_file())
}
