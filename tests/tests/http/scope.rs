//! One key is one operation of one user at one route: what differs in any of these shares nothing.

use std::collections::HashSet;

use axum::extract::OriginalUri;
use axum::http::{HeaderValue, Method};
use idem_runtime::axum::{Router, patch, post as post_to};
use idem_runtime::{Idempotency, Mutation, idempotent};
use idem_tests::shop::Shop;
use idem_tests::{Fixture, on_every_database};

use crate::client::{Answer, Call, body, keyed};
use crate::site::Site;

#[idempotent(route = "items.change")]
async fn change<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    OriginalUri(uri): OriginalUri,
) -> String {
    F::effect(mutation, "change").await.unwrap();
    uri.to_string()
}

#[idempotent(route = "items.change.again")]
async fn change_elsewhere<F: Fixture>(
    idem: Idempotency<F::S>,
    mutation: &mut Mutation<F::S>,
    OriginalUri(uri): OriginalUri,
) -> String {
    F::effect(mutation, "change").await.unwrap();
    format!("elsewhere {uri}")
}

async fn site<F: Fixture>() -> Site<F> {
    let items: Router<Shop<F>> =
        Router::new().route("/items/{id}", patch(change::<F>).put(change::<F>).post(change_elsewhere::<F>));
    let deep = Router::new().nest("/v1", items.clone()).nest("/v2", items.clone()).merge(items);
    let deep = deep.nest("/shops/{shop}", Router::new().route("/close", post_to(change_elsewhere::<F>)));
    Site::of(deep).await
}

fn of(method: Method, path: &str) -> Call {
    keyed(method, path, "k").body(body("")).unwrap()
}

#[track_caller]
fn is_conflict(answer: &Answer, what: &str) {
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (422, "IDEMPOTENCY_KEY_CONFLICT"), "{what}");
}

async fn another_path_query_or_method_under_one_key_is_another_request<F: Fixture>() {
    let site = site::<F>().await;
    let first = site.send(of(Method::PUT, "/v1/items/a?x=1&y=2")).await;
    assert_eq!(&first.body[..], b"/v1/items/a?x=1&y=2", "the handler sees the path as it was sent");
    for (method, path) in [
        (Method::PUT, "/v1/items/b?x=1&y=2"),
        (Method::PUT, "/v2/items/a?x=1&y=2"),
        (Method::PUT, "/items/a?x=1&y=2"),
        (Method::PUT, "/v1/items/%61?x=1&y=2"),
        (Method::PUT, "/v1/items/a%3Fx=1&y=2"),
        (Method::PUT, "/v1/items/a"),
        (Method::PUT, "/v1/items/a?x=1"),
        (Method::PUT, "/v1/items/a?y=2&x=1"),
        (Method::PUT, "/v1/items/a?x=1&y=2&"),
        (Method::PATCH, "/v1/items/a?x=1&y=2"),
    ] {
        is_conflict(&site.send(of(method.clone(), path)).await, &format!("{method} {path}"));
    }
    site.send(of(Method::PUT, "/v1/items/a?x=1&y=2")).await.replays(&first);
    assert_eq!(site.count("effects").await, 1);
}

async fn one_key_at_two_routes_is_two_operations<F: Fixture>() {
    let site = site::<F>().await;
    let put = site.send(of(Method::PUT, "/v1/items/a")).await;
    let posted = site.send(of(Method::POST, "/v1/items/a")).await;
    assert_eq!((&put.body[..], &posted.body[..]), (&b"/v1/items/a"[..], &b"elsewhere /v1/items/a"[..]));
    site.send(of(Method::POST, "/v1/items/a")).await.replays(&posted);
    site.send(of(Method::PUT, "/v1/items/a")).await.replays(&put);
    // Two mounts of one route are one operation, told apart by their paths.
    is_conflict(&site.send(of(Method::POST, "/shops/a/close")).await, "another mount");
    assert_eq!(site.count("effects").await, 2);
}

/// Names that would run together if they were joined, folded or trimmed.
const NAMES: [(&str, &str, &str); 18] = [
    ("a:b", "c", "k"),
    ("a", "b:c", "k"),
    ("a", "b", "c:k"),
    ("a/b", "c", "k"),
    ("a", "b/c", "k"),
    ("a|b", "c", "k"),
    ("a", "b|c", "k"),
    ("a,b", "c", "k"),
    ("a", "b,c", "k"),
    ("a%00b", "c", "k"),
    ("a", "c", "k"),
    ("A", "c", "k"),
    ("a", "C", "k"),
    ("a", "c", "K"),
    ("a", "c", "\"k:\""),
    ("a", "c", "\"'; DROP\""),
    ("a'--", "c", "k"),
    ("a", "c.items", "k"),
];

async fn tenants_users_and_keys_never_run_together<F: Fixture>() {
    let site = site::<F>().await;
    let mut firsts = Vec::new();
    let call = |tenant: &str, user: &str, key: &str| {
        let mut call = of(Method::PUT, "/items/a");
        for (name, value) in [("x-tenant", tenant), ("x-user", user), ("idempotency-key", key)] {
            call.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
        }
        call
    };
    for (tenant, user, key) in NAMES {
        // A blank is no part of a key, so this one is refused and leaves the others alone.
        if key.contains(' ') {
            assert_eq!(site.send(call(tenant, user, key)).await.code(), "IDEMPOTENCY_KEY_INVALID");
            continue;
        }
        let first = site.send(call(tenant, user, key)).await;
        assert_eq!((first.status.as_u16(), first.is_replay()), (200, false), "{tenant} {user} {key}");
        firsts.push(((tenant, user, key), first));
    }
    for ((tenant, user, key), first) in &firsts {
        site.send(call(tenant, user, key)).await.replays(first);
    }
    let distinct: HashSet<_> = firsts.iter().map(|(names, _)| names).collect();
    assert_eq!(site.count("effects").await, i64::try_from(distinct.len()).unwrap());
}

async fn a_key_is_the_same_bare_quoted_and_with_parameters<F: Fixture>() {
    let site = site::<F>().await;
    let call = |key: &str| keyed(Method::PUT, "/items/a", key).body(body("")).unwrap();
    let first = site.send(call("k")).await;
    for form in ["\"k\"", "\"k\";a=1", "  k  "] {
        site.send(call(form)).await.replays(&first);
    }
    assert_eq!(site.count("idempotency_records").await, 1);
}

on_every_database! {
    another_path_query_or_method_under_one_key_is_another_request,
    one_key_at_two_routes_is_two_operations,
    tenants_users_and_keys_never_run_together,
    a_key_is_the_same_bare_quoted_and_with_parameters,
}
