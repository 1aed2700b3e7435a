#![allow(unused_variables, unused_imports, dead_code)]

use idem_runtime::outbox_handler;

#[outbox_handler(event = "order.created", version = 1, handler_key = "count")]
struct Count;

fn main() {}
