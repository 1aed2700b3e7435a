//! A store that is away while the proxy in front of it refuses connections.

use idem_test_support::proxy::{Fault, Proxy};

use crate::app::Store;

impl Store for Proxy {
    async fn take_away(&self) -> Result<(), String> {
        self.arm(Fault::Refuse);
        self.fired().await;
        Ok(())
    }

    async fn give_back(&self) -> Result<(), String> {
        self.heal();
        Ok(())
    }
}
