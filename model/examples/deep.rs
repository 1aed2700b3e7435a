//! The long run: everything that can go wrong in one exploration. `docs/model.md` has its figures.
//!
//!     cargo run -p idem-model --example deep

use std::time::Instant;

use idem_model::{Budget, GuardModel, Setup};
use idem_runtime::{Mode, OnLapse, PolicyError};
use stateright::{Checker, Model};

const ROUTES: [(Mode, OnLapse); 4] = [
    (Mode::Transactional, OnLapse::Rerun),
    (Mode::External, OnLapse::Rerun),
    (Mode::External, OnLapse::Refuse),
    (Mode::External, OnLapse::Recover),
];

fn main() -> Result<(), PolicyError> {
    for (mode, on_lapse) in ROUTES {
        for requests in [[1, 1, 1], [2, 1, 1]] {
            let setup = Setup::new(mode, on_lapse)?.requests(requests).budget(Budget::ALL);
            let started = Instant::now();
            let checker = GuardModel::new(setup).checker().threads(2).spawn_bfs().join();
            let (states, depth) = (checker.unique_state_count(), checker.max_depth());
            let took = started.elapsed().as_secs();
            println!(
                "{} {} {requests:?}: {states} states, {depth} deep, {took} s",
                mode.as_str(),
                on_lapse.as_str()
            );
            checker.assert_properties();
        }
    }
    Ok(())
}
