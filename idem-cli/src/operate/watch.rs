//! `idem watch`: the counts of `stats` by route, again and again.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use idem_runtime::store::{ConnectionOf, Inspect};

use super::Error;
use super::database::{Database, Job, Target};
use super::json::wanted;
use super::span::{parse, words};
use crate::{Answer, Outcome};

mod frame;
mod screen;

use frame::Frame;
use screen::Screen;

const EXAMPLES: &str = "\
Examples:
  idem watch                          until Ctrl-C
  idem watch --interval 10s
  idem watch --once                   one frame, for a script
  idem watch --json | jq .totals      one line of JSON for each interval

Each frame reads the whole table, as `idem stats` does, and the next one begins an interval after it has ended.
Where the output is no terminal, the frames follow each other without control codes.

Exit codes: 0 stopped, 1 with --once: some attempts stopped without an outcome, 2 there is no answer.";

/// The arguments of `idem watch`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// How long a frame stands.
    #[arg(long, value_name = "SPAN", value_parser = parse, default_value = "2s")]
    interval: Duration,
    /// One frame, and no more.
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    target: Target,
}

impl Job for Args {
    fn target(&self) -> &Target {
        &self.target
    }

    async fn run<S: Inspect>(&self, database: &Database<'_, S>) -> Result<Answer, Error> {
        let mut connection = database.records().await?;
        if self.once {
            let frame = read(database, &mut connection).await?;
            let outcome = if frame.stuck() == 0 { Outcome::Clean } else { Outcome::Denied };
            let text = if wanted(self) { frame.json()? } else { frame.text(&database.to_string(), None) };
            return Ok(Answer { text, outcome });
        }
        tokio::select! {
            // First, so that the signals are caught before anything is drawn.
            biased;
            () = stopped() => {}
            ended = self.watch(database, &mut connection) => ended?,
        }
        Ok(Answer { text: String::new(), outcome: Outcome::Clean })
    }
}

impl Args {
    /// Draws until nobody reads any more; the screen is given back when this future is dropped.
    async fn watch<S: Inspect>(
        &self,
        database: &Database<'_, S>,
        conn: &mut ConnectionOf<S>,
    ) -> Result<(), Error> {
        let title = format!("{database}, every {}", words(self.interval));
        let mut screen = (io::stdout().is_terminal() && !wanted(self)).then(Screen::default);
        loop {
            let frame = read(database, conn).await?;
            let drawn = match &mut screen {
                Some(screen) => screen.draw(&frame.text(&title, Some(Screen::height()))),
                None if wanted(self) => print(&frame.json()?),
                None => print(&(frame.text(&title, None) + "\n")),
            };
            if drawn.is_err() {
                return Ok(());
            }
            tokio::time::sleep(self.interval).await;
        }
    }
}

async fn read<S: Inspect>(database: &Database<'_, S>, conn: &mut ConnectionOf<S>) -> Result<Frame, Error> {
    let groups = database.ask(S::stats(conn).await)?;
    let now = match groups.first() {
        Some(group) => group.now,
        None => database.ask(S::now(conn).await)?,
    };
    Ok(Frame::new(&groups, now))
}

fn print(text: &str) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Ctrl-C, or whatever else politely ends a program here.
#[cfg(unix)]
async fn stopped() {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    // Without a handler the signal ends the program by itself.
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else { return std::future::pending().await };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

/// Ctrl-C.
#[cfg(not(unix))]
async fn stopped() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
