#![allow(unused_variables, unused_imports, dead_code)]

use idem_runtime::outbox::Delivery;
use idem_runtime::outbox_handler;
use idem_runtime::sqlite::Mutation;
use idem_ui_tests::Order;

struct Silent;

#[outbox_handler(event = "order.created", version = 1, handler_key = "count")]
async fn count(delivery: &Delivery<Order>, mutation: &mut Mutation) -> Result<(), Silent> {
    Ok(())
}

fn main() {}
