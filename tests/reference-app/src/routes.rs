//! Every route of the fixture with its stance.

mod answers;
mod counts;
mod external;
mod orders;
mod payloads;
mod profiles;
mod requests;

use idem_runtime::axum::{Router, exempt, get, post};

use crate::app::App;
use crate::business::Business;

/// All routes on one database.
pub fn router<D: Business>(app: App<D>) -> axum::Router {
    let router = Router::new()
        .route("/orders", post(orders::create::<D>).get(orders::list))
        .route("/retryable", post(orders::create_retryable::<D>))
        .route("/optional", post(orders::create_with_optional_key::<D>))
        .route("/exempt", post(exempt("the cases want to see it run twice", orders::create_exempt::<D>)))
        .route("/expiring", post(orders::create_expiring::<D>))
        .route("/panic", post(orders::panic_after_insert::<D>))
        .route("/payments", post(external::pay::<D>))
        .route("/slow", post(external::slow::<D>))
        .route("/wait", post(external::awaited::<D>))
        .route("/leased", post(external::leased::<D>))
        .route("/leased-refuse", post(external::leased_refuse::<D>))
        .route("/renewed", post(external::renewed::<D>))
        .route("/recovered", post(external::recovered::<D>))
        .route("/answers", post(answers::any::<D>))
        .route("/answers-again", post(answers::any_again::<D>))
        .route("/headers", post(answers::headers::<D>))
        .route("/compressed", post(answers::compressed::<D>))
        .route("/streamed", post(answers::streamed::<D>))
        .route("/form", post(requests::form::<D>))
        .route("/text", post(requests::text::<D>))
        .route("/imports", post(requests::import::<D>))
        .route("/hooks", post(requests::hook::<D>))
        .route("/delegated", post(requests::delegated::<D>))
        .route("/unclaimed", post(requests::unclaimed::<D>))
        .nest("/v2", Router::new().route("/orders", post(orders::create::<D>)))
        .route(
            "/profiles/{id}",
            get(profiles::read::<D>)
                .put(profiles::replace::<D>)
                .patch(profiles::change::<D>)
                .delete(profiles::delete::<D>),
        )
        .route("/no-content", post(payloads::no_content::<D>))
        .route("/large", post(payloads::large::<D>))
        .route("/echo", post(payloads::echo::<D>))
        .route("/__test/counts", get(counts::read::<D>));
    router.with_state::<()>(app).into_axum()
}
