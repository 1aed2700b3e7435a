//! A program in which two functions declare one route: no guard is built in it.
#![cfg(feature = "sqlite")]

use idem_runtime::sqlite::{Guard, Idempotency};
use idem_runtime::{BuildError, Error, idempotent, registry};

mod orders {
    use super::*;

    #[idempotent(route = "orders.create")]
    pub(super) async fn create(idem: &Idempotency) -> Result<(), Error> {
        Ok(())
    }
}

mod carts {
    use super::*;

    pub(super) struct Carts;

    impl Carts {
        #[idempotent(route = "orders.create")]
        pub(super) async fn order(&self, idem: &Idempotency) -> Result<(), Error> {
            Ok(())
        }
    }
}

#[tokio::test]
async fn no_guard_is_built_while_two_functions_share_a_route() {
    let _ = (orders::create, carts::Carts::order);
    let pool = sqlx::SqlitePool::connect("sqlite::memory:").await.unwrap();
    let error = Guard::builder(pool).migrate().build().await.unwrap_err();
    assert!(matches!(error, BuildError::DuplicateRoute(_)));
    assert_eq!(
        error.to_string(),
        "the route \"orders.create\" is declared twice, by duplicate_route::orders::create \
         (idem-runtime/tests/duplicate_route.rs:10) and by duplicate_route::carts::order \
         (idem-runtime/tests/duplicate_route.rs:22): rename one of the two"
    );
}

#[test]
#[should_panic(expected = "is declared twice, by duplicate_route::orders::create")]
fn the_test_of_an_application_finds_it_too() {
    registry::assert_unique_routes();
}
