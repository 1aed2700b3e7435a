//! Runs one case: its steps in order, until one of them differs.

use std::time::Duration;

use crate::case::{Case, ControlStep, Need, Request, Start, Step, StoreState};
use crate::client::Server;
use crate::control::Control;
use crate::report::{Report, Verdict};
use crate::step::Play;

/// Runs a case with fresh keys and tells what became of it.
pub async fn run(case: &Case, server: &Server, control: &impl Control) -> Report {
    let lacking = case.requires.iter().find_map(|need| control.lacks(*need));
    if let Some(reason) = lacking {
        return Report::new(case, Verdict::LeftOut(reason), Vec::new());
    }
    let mut play = Play::new(case, server.clone(), control);
    let mut remarks = Vec::new();
    let mut failure = None;
    for (number, step) in case.steps.iter().enumerate() {
        let done = match &step.control {
            // Also after a failure: the next case needs the server.
            Some(act) => {
                tokio::time::sleep(Duration::from_millis(step.wait_ms)).await;
                carry_out(act, control, &play).await.map(|()| None)
            }
            None if failure.is_some() => continue,
            None => play.step(step).await,
        };
        match done {
            Ok(None) => {}
            Ok(Some(alternative)) => remarks.push(format!("step {}: alternative {alternative}", number + 1)),
            Err(reason) => {
                failure.get_or_insert_with(|| format!("step {}: {reason}", number + 1));
            }
        }
    }
    let verdict = failure.map_or(Verdict::Passed(remarks), Verdict::Failed);
    Report::new(case, verdict, play.foreseen)
}

async fn carry_out<C: Control>(step: &ControlStep, control: &C, play: &Play<'_, C>) -> Result<(), String> {
    if step.kill.is_some() {
        control.kill().await?;
    }
    match &step.start {
        Some(Start::With { secrets }) => control.start(secrets).await?,
        Some(Start::AsEver(true)) => control.start(&[]).await?,
        Some(Start::AsEver(false)) | None => {}
    }
    if let Some(request) = &step.release
        && !control.release(&play.message(request)?).await?
    {
        return Err("there was nothing to release".to_owned());
    }
    if step.sweep {
        control.sweep().await?;
    }
    match step.store {
        Some(StoreState::Down) => control.store_down().await,
        Some(StoreState::Up) => control.store_up().await,
        None => Ok(()),
    }
}

impl Case {
    /// Whether it does something to the server that other cases would feel.
    #[must_use]
    pub fn needs(&self, need: Need) -> bool {
        self.requires.contains(&need)
    }

    /// Whether what it expects depends on how long something takes, so that a busy machine could spoil it.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        let background = |request: &Request| request.background || request.abort_after_ms.is_some();
        let timed = |step: &Step| {
            step.wait_ms > 0
                || step.expect.max_elapsed_ms.is_some()
                || step.request.as_ref().is_some_and(background)
        };
        self.steps.iter().any(timed)
    }
}
