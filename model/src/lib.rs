//! Every order of events around one key, up to a bound: the real decision function, the store's statements as
//! atomic steps, three clients, and what can go wrong in between. `docs/model.md` says what is left out.
//!
//! ```
//! use idem_model::{GuardModel, Setup};
//! use idem_runtime::{Mode, OnLapse};
//! use stateright::{Checker, Model};
//!
//! let setup = Setup::new(Mode::Transactional, OnLapse::Rerun)?;
//! GuardModel::new(setup).checker().spawn_bfs().join().assert_properties();
//! # Ok::<(), idem_runtime::PolicyError>(())
//! ```

#![forbid(unsafe_code)]

mod actions;
mod history;
pub mod properties;
mod rescue;
mod row;
mod setup;
mod state;
mod step;
mod store;
mod variants;

use stateright::{Model, Property};

pub use actions::{Action, Commit, Delivery, Says};
pub use history::{History, LIVES, Life};
pub use row::{Claim, Row, Token};
pub use setup::{Budget, CLIENTS, Request, Setup};
pub use state::{At, Change, Client, Doubt, Open, Own, State};
pub use variants::Variant;

/// What the checker explores.
#[derive(Debug, Clone)]
pub struct GuardModel {
    pub(crate) setup: Setup,
}

impl GuardModel {
    /// The model of one configuration.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self { setup }
    }
}

impl Model for GuardModel {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(self.setup.budget)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions::enabled(&self.setup, state, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        Some(step::step(&self.setup, state, action))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all(self)
    }
}
