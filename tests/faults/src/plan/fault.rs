//! The faults, and how often each is drawn.

use std::time::Duration;

use clap::ValueEnum;
use fastrand::Rng;

/// A named point in the service, at which it stops itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Point {
    /// A request has come in.
    BeforeClaim,
    /// The body begins: the claim is committed.
    AfterClaim,
    /// The body has had its effect.
    InBody,
    /// The body has returned, and nothing is committed yet.
    BeforeCommit,
    /// Everything is committed, and no answer is out.
    AfterCommit,
    /// The handler of an event has had its effect.
    InHandler,
    /// SQLite carries out the statement of the claim.
    SqliteClaim,
    /// SQLite is about to commit.
    SqliteCommit,
    /// SQLite changes an event: it is taken, or marked as delivered.
    SqliteMark,
}

impl Point {
    const IN_SERVICE: [Self; 6] = [
        Self::BeforeClaim,
        Self::AfterClaim,
        Self::InBody,
        Self::BeforeCommit,
        Self::AfterCommit,
        Self::InHandler,
    ];
    const IN_SQLITE: [Self; 3] = [Self::SqliteClaim, Self::SqliteCommit, Self::SqliteMark];
    /// Where a process that stands still may be overtaken.
    const OWNED: [Self; 4] = [Self::AfterClaim, Self::InBody, Self::BeforeCommit, Self::InHandler];

    /// As the service takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeClaim => "before-claim",
            Self::AfterClaim => "after-claim",
            Self::InBody => "in-body",
            Self::BeforeCommit => "before-commit",
            Self::AfterCommit => "after-commit",
            Self::InHandler => "in-handler",
            Self::SqliteClaim => "sqlite-claim",
            Self::SqliteCommit => "sqlite-commit",
            Self::SqliteMark => "sqlite-mark",
        }
    }
}

/// A statement that the proxy in front of a server waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statement {
    /// The INSERT of a claim.
    Claim,
    /// The UPDATE to `succeeded`.
    Complete,
    /// The COMMIT.
    Commit,
    /// The UPDATE that marks an event as delivered.
    Mark,
}

impl Statement {
    const ALL: [Self; 4] = [Self::Claim, Self::Complete, Self::Commit, Self::Mark];

    fn name(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Complete => "completion",
            Self::Commit => "COMMIT",
            Self::Mark => "outbox mark",
        }
    }
}

/// One fault with all that is to be known about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL at a point of the service.
    Kill(Point),
    /// SIGSTOP at a point of the service, beyond the lease, then SIGCONT.
    Freeze(Point, Duration),
    /// SIGKILL while a statement is on its way; it arrives after that or never.
    KillDuring(Statement, bool),
    /// The connection is cut before the COMMIT arrives.
    CutBeforeCommit,
    /// The connection is cut after the COMMIT was carried out.
    CutAfterCommit,
    /// The connection is cut after a statement was carried out.
    CutReply(Statement),
    /// Everything that goes to the server takes longer.
    Latency(Duration),
    /// All connections of the pool are taken.
    Exhaust(Duration),
    /// The database may not grow.
    Full(Duration),
    /// No file may grow: every write beyond the end fails.
    FileLimit(Duration),
    /// The process starts anew with a clock that is wrong by these seconds.
    Skew(i64),
    /// The server stops as it is asked to, and starts again.
    RestartFast,
    /// The server stops at once, without writing anything, and starts again.
    RestartImmediate,
}

/// What the weights are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the fault of that name")]
pub enum Kind {
    Kill,
    KillInSqlite,
    Freeze,
    KillDuring,
    CutBeforeCommit,
    CutAfterCommit,
    CutReply,
    Latency,
    Exhaust,
    Full,
    FileLimit,
    Skew,
    RestartFast,
    RestartImmediate,
}

/// No wrong clocks: on SQLite the clock of the process is that of the database.
pub(super) const ON_SQLITE: &[(u32, Kind)] = &[
    (40, Kind::Kill),
    (30, Kind::KillInSqlite),
    (4, Kind::Freeze),
    (6, Kind::Exhaust),
    (8, Kind::Full),
    (8, Kind::FileLimit),
];
pub(super) const ON_SERVERS: &[(u32, Kind)] = &[
    (20, Kind::Kill),
    (3, Kind::Freeze),
    (14, Kind::KillDuring),
    (18, Kind::CutBeforeCommit),
    (18, Kind::CutAfterCommit),
    (20, Kind::CutReply),
    (3, Kind::Latency),
    (2, Kind::Exhaust),
    (2, Kind::Skew),
];
pub(super) const OF_SERVERS: &[(u32, Kind)] = &[(1, Kind::RestartFast), (1, Kind::RestartImmediate)];

impl Kind {
    pub(super) fn draw(self, random: &mut Rng) -> Fault {
        let mut span = |range: std::ops::Range<u64>| Duration::from_millis(random.u64(range));
        match self {
            Self::Freeze => {
                let span = span(1200..2600);
                Fault::Freeze(one_of(random, &Point::OWNED), span)
            }
            Self::Latency => Fault::Latency(span(5..60)),
            Self::Exhaust => Fault::Exhaust(span(300..1500)),
            Self::Full => Fault::Full(span(100..600)),
            Self::FileLimit => Fault::FileLimit(span(300..1200)),
            Self::Kill => Fault::Kill(one_of(random, &Point::IN_SERVICE)),
            Self::KillInSqlite => Fault::Kill(one_of(random, &Point::IN_SQLITE)),
            Self::KillDuring => Fault::KillDuring(one_of(random, &Statement::ALL), random.bool()),
            Self::CutReply => {
                let statements = [Statement::Claim, Statement::Complete, Statement::Mark];
                Fault::CutReply(one_of(random, &statements))
            }
            Self::Skew => Fault::Skew(random.i64(-100_000..100_000)),
            Self::CutBeforeCommit => Fault::CutBeforeCommit,
            Self::CutAfterCommit => Fault::CutAfterCommit,
            Self::RestartFast => Fault::RestartFast,
            Self::RestartImmediate => Fault::RestartImmediate,
        }
    }
}

fn one_of<T: Copy>(random: &mut Rng, all: &[T]) -> T {
    all[random.usize(..all.len())]
}

impl Fault {
    /// What it is counted under.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Kill(point) => format!("SIGKILL {}", point.name()),
            Self::Freeze(point, _) => format!("SIGSTOP beyond the lease {}", point.name()),
            Self::KillDuring(statement, true) => format!("SIGKILL, {} arrives", statement.name()),
            Self::KillDuring(statement, false) => format!("SIGKILL, {} is lost", statement.name()),
            Self::CutBeforeCommit => "cut before COMMIT".to_owned(),
            Self::CutAfterCommit => "cut after COMMIT".to_owned(),
            Self::CutReply(statement) => format!("cut after {}", statement.name()),
            Self::Latency(_) => "latency".to_owned(),
            Self::Exhaust(_) => "pool exhausted".to_owned(),
            Self::Full(_) => "disk full".to_owned(),
            Self::FileLimit(_) => "file limit".to_owned(),
            Self::Skew(_) => "wrong clock".to_owned(),
            Self::RestartFast => "server restart, fast".to_owned(),
            Self::RestartImmediate => "server restart, immediate".to_owned(),
        }
    }
}
