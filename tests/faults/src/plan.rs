//! What strikes, in which order and after which pauses: the same for the same seed.

mod fault;

use std::time::Duration;

use clap::ValueEnum;
use fastrand::Rng;

pub use fault::{Fault, Kind, Point, Statement};

/// A database under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Database {
    /// In the processes themselves.
    Sqlite,
    /// A server that is restarted.
    Postgres,
    /// Likewise.
    Mariadb,
}

impl Database {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Sqlite, Self::Postgres, Self::Mariadb];

    /// As in the options.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Mariadb => "mariadb",
        }
    }
}

/// A fault and the pause before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// How long nothing is done.
    pub pause: Duration,
    /// What is done then.
    pub fault: Fault,
}

/// The endless list of what strikes one process, or the server.
#[derive(Debug)]
pub struct Plan {
    random: Rng,
    kinds: &'static [(u32, Kind)],
    pauses: std::ops::Range<u64>,
}

impl Plan {
    /// The list for one process.
    #[must_use]
    pub fn of_process(seed: u64, database: Database, process: usize) -> Self {
        let kinds = match database {
            Database::Sqlite => fault::ON_SQLITE,
            Database::Postgres | Database::Mariadb => fault::ON_SERVERS,
        };
        Self { random: stream(seed, database, process as u64), kinds, pauses: 5..120 }
    }

    /// The list for the server itself.
    #[must_use]
    pub fn of_server(seed: u64, database: Database) -> Self {
        Self { random: stream(seed, database, 1000), kinds: fault::OF_SERVERS, pauses: 2500..6000 }
    }
}

impl Iterator for Plan {
    type Item = Planned;

    fn next(&mut self) -> Option<Planned> {
        let pause = Duration::from_millis(self.random.u64(self.pauses.clone()));
        let total = self.kinds.iter().map(|(weight, _)| weight).sum();
        let mut drawn = self.random.u32(0..total);
        let (_, kind) = self.kinds.iter().find(|(weight, _)| {
            let here = drawn < *weight;
            drawn = drawn.saturating_sub(*weight);
            here
        })?;
        Some(Planned { pause, fault: kind.draw(&mut self.random) })
    }
}

/// A generator of its own for each list, so that none depends on how fast the others are used up.
fn stream(seed: u64, database: Database, number: u64) -> Rng {
    let mut mixer = Rng::with_seed(seed);
    let base = mixer.u64(..) ^ ((database as u64 + 1) << 32) ^ (number + 1);
    let mut random = Rng::with_seed(base);
    random.fork()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beginning(seed: u64, database: Database, process: usize) -> Vec<Planned> {
        Plan::of_process(seed, database, process).take(200).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_plan_and_another_seed_another() {
        for database in Database::ALL {
            assert_eq!(beginning(7, database, 1), beginning(7, database, 1));
            assert_ne!(beginning(7, database, 1), beginning(8, database, 1));
            assert_ne!(beginning(7, database, 1), beginning(7, database, 2));
        }
        assert_ne!(beginning(7, Database::Postgres, 0), beginning(7, Database::Mariadb, 0));
    }

    #[test]
    fn every_kind_of_fault_is_drawn() {
        for (database, kinds) in
            [(Database::Sqlite, fault::ON_SQLITE), (Database::Mariadb, fault::ON_SERVERS)]
        {
            let names: std::collections::BTreeSet<_> =
                Plan::of_process(1, database, 0).take(5000).map(|planned| planned.fault.name()).collect();
            assert!(names.len() >= kinds.len(), "{names:?}");
        }
    }
}
