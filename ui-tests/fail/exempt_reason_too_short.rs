use idem_runtime::axum::{Exempt, exempt};

async fn login() -> &'static str {
    "welcome"
}

const LOGIN: Exempt<fn()> = exempt("login", || ());

fn main() {}
