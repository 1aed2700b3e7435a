#![allow(unused_variables, unused_imports, dead_code)]

use idem_runtime::outbox::Delivery;
use idem_runtime::outbox_handler;
use idem_runtime::sqlite::Mutation;
use idem_ui_tests::Order;

#[outbox_handler(event = "order.created", version = 1, handler_key = "count", ttl = "10s", lease = "30s")]
async fn count(delivery: &Delivery<Order>, mutation: &mut Mutation) -> Result<(), String> {
    Ok(())
}

fn main() {}
