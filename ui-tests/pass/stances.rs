//! The other two stances, and `#[service]` on everything it goes on, in a strict crate.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, clippy::pedantic)]

use std::future::Future;
use std::pin::Pin;

use idem_runtime::sqlite::{Idempotency, Mutation, ReadPool};
use idem_runtime::{Error, exempt, idempotent, read_only, service};

/// A service.
pub struct Orders<T> {
    /// What it works with.
    pub with: T,
}

#[service]
impl<T: Sync> Orders<T> {
    /// Writes once.
    ///
    /// # Errors
    ///
    /// When it is refused.
    #[idempotent(route = "orders.place", bind(task_id = value))]
    pub async fn place(&self, idem: &Idempotency, mutation: &mut Mutation, sku: &str) -> Result<String, Error> {
        Ok(self.prefix(mutation.attempt()) + sku)
    }

    /// May run twice.
    #[idem_runtime::exempt(reason = "a second mail does no harm", until = "2027-12-31")]
    #[tracing::instrument(skip_all)]
    pub async fn remind<U: Sync>(&self, whom: &U) {
        #![allow(clippy::needless_pass_by_value)]
        let _ = whom;
        std::future::ready(()).await;
    }

    /// Reads.
    ///
    /// # Errors
    ///
    /// When the database is away.
    #[::idem_runtime::read_only]
    pub async fn count(&self, reads: &ReadPool) -> sqlx::Result<i64> {
        let mut connection = reads.acquire().await?;
        sqlx::query_scalar("SELECT count(*) FROM orders").fetch_one(&mut *connection).await
    }

    /// Returns a future.
    #[read_only]
    pub fn find(&self) -> impl Future<Output = i64> + Send {
        async { 1 }
    }

    /// Returns a boxed one.
    #[exempt(reason = "a second look does no harm")]
    pub fn look(&self) -> Pin<Box<dyn Future<Output = i64> + Send>> {
        Box::pin(async { 1 })
    }

    /// Waits for nothing.
    pub const fn size(&self) -> usize {
        size_of::<T>()
    }

    fn prefix(&self, attempt: i64) -> String {
        attempt.to_string()
    }

    /// Is not there.
    #[cfg(any())]
    pub async fn left_out(&self) {}
}

#[service]
trait Shop {
    #[idempotent]
    fn order(&self, idem: &Idempotency, sku: &str) -> impl Future<Output = Result<String, Error>> + Send;

    #[read_only]
    async fn stock(&self) -> u64;

    #[exempt(reason = "a greeting may be repeated")]
    async fn greet(&self) -> String {
        String::from("hello")
    }
}

#[service]
impl Shop for Orders<()> {
    #[idempotent(route = "shop.order")]
    async fn order(&self, idem: &Idempotency, mutation: &mut Mutation, sku: &str) -> Result<String, Error> {
        let _ = mutation;
        Ok(sku.to_owned())
    }

    #[read_only]
    async fn stock(&self) -> u64 {
        0
    }
}

macro_rules! declared {
    ($name:ident) => {
        /// Made by a macro.
        #[read_only]
        pub async fn $name() {
            std::future::ready(()).await;
        }
    };
}

/// A module.
#[service]
pub mod carts {
    use super::read_only;

    declared!(made);

    /// Reads.
    #[read_only]
    pub async fn list() -> Vec<String> {
        helper().await
    }

    async fn helper() -> Vec<String> {
        std::future::ready(Vec::new()).await
    }

    #[super::service]
    pub(crate) mod inner {
        #[super::read_only]
        pub(crate) async fn list() {
            std::future::ready(()).await;
        }
    }
}

fn main() {
    let orders = Orders { with: () };
    let _ = (orders.find(), orders.look(), orders.size(), carts::made(), carts::list(), carts::inner::list());
    let _ = (Orders::<()>::place, Orders::<()>::remind::<u8>, Orders::<()>::count);
    let _ = (Shop::stock(&orders), Shop::greet(&orders), <Orders<()> as Shop>::order);

    let here = concat!(module_path!(), "::");
    let stances: Vec<_> = idem_runtime::registry::stances()
        .iter()
        .map(|stance| stance.to_string().replacen(here, "", 1))
        .collect();
    assert_eq!(
        stances,
        [
            "count #[read_only]",
            "find #[read_only]",
            "greet #[exempt(reason = \"a greeting may be repeated\")]",
            "look #[exempt(reason = \"a second look does no harm\")]",
            "order #[idempotent(route = \"shop.order\")]",
            "place #[idempotent(route = \"orders.place\", bind(task_id = value))]",
            "remind #[exempt(reason = \"a second mail does no harm\", until = \"2027-12-31\")]",
            "stock #[read_only]",
            "carts::list #[read_only]",
            "carts::made #[read_only]",
            "carts::inner::list #[read_only]",
        ]
    );
}
