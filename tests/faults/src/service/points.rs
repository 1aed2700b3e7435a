//! The points at which this process kills or freezes itself, once for each time that it is told to.

use std::sync::{Arc, Mutex, PoisonError};

use clap::ValueEnum;
use rustix::process::{Signal, getpid, kill_process};

use crate::plan::Point;

/// What happens at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Action {
    /// SIGKILL.
    Kill,
    /// SIGSTOP.
    Freeze,
}

/// What is armed in this process.
#[derive(Debug, Clone, Default)]
pub(crate) struct Points(Arc<Mutex<Option<(Point, Action)>>>);

impl Points {
    /// Takes the place of what was armed before; `None` disarms.
    pub(crate) fn arm(&self, what: Option<(Point, Action)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }

    /// Dies or freezes here, if this is the point.
    pub(crate) fn reach(&self, point: Point, place: &str) {
        let mut armed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, action)) = armed.take_if(|(at, _)| *at == point) else { return };
        drop(armed);
        // The driver reads this; the line is out before the signal.
        println!("struck {} {place}", point.name());
        let signal = match action {
            Action::Kill => Signal::KILL,
            Action::Freeze => Signal::STOP,
        };
        let _ = kill_process(getpid(), signal);
    }
}
