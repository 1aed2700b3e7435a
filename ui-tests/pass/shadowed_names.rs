//! A module may call its own things `Result`, `Option`, `String` and `Some`.
#![deny(warnings)]

use idem_runtime::{exempt, idempotent, read_only, service};
use idem_runtime::sqlite::{Idempotency, Mutation};

#[allow(dead_code)]
mod own {
    pub struct Option;
    pub struct Result;
    pub struct String;
    pub struct Some;
    pub struct None;
    pub struct Ok;
    pub struct Err;
}
#[allow(unused_imports)]
use own::*;

#[idempotent(route = "orders.create", ttl = "1h")]
async fn create(idem: Idempotency, mutation: &mut Mutation) -> std::string::String {
    mutation.attempt().to_string()
}

#[idempotent(route = "orders.place", lease = "1s")]
async fn place(idem: &Idempotency, number: u32) -> std::result::Result<u32, idem_runtime::Error> {
    std::result::Result::Ok(number)
}

struct Orders;

#[service]
impl Orders {
    #[exempt(reason = "a second mail does no harm")]
    pub async fn remind(&self) -> std::option::Option<u8> {
        std::option::Option::None
    }

    #[read_only]
    pub async fn count(&self) -> std::result::Result<u8, ()> {
        std::result::Result::Ok(0)
    }
}

fn main() {
    let _ = (create, place, Orders::remind, Orders::count);
}
