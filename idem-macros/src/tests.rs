//! What the attribute expands to, for the main shapes, beside the rules that every expansion keeps.

use std::path::Path;

use proc_macro2::TokenStream;

fn expanded(args: &str, item: &str) -> String {
    let args: TokenStream = args.parse().unwrap();
    let item: TokenStream = item.parse().unwrap();
    let file = syn::parse2(crate::expand(&args, &item)).unwrap();
    prettyplease::unparse(&file)
}

/// Compares with the file; `IDEM_UPDATE_SNAPSHOTS=1` writes it anew.
fn check(name: &str, args: &str, item: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/snapshots").join(name);
    let now = expanded(args, item);
    if std::env::var_os("IDEM_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    assert_eq!(now, kept, "the expansion of {name} has changed");
}

const ORDER: &str = r"
    /// Creates an order.
    pub async fn create_order(
        idem: Idempotency,
        State(app): State<App>,
        mutation: &mut Mutation,
        Json(input): Json<CreateOrder>,
    ) -> Result<Json<Order>, AppError> {
        app.create(mutation, input).await
    }";

#[test]
fn a_handler_in_a_transaction_expands_as_kept() {
    check(
        "handler_transactional.expanded",
        r#"route = "orders.create", bind = task_id, release_on(AppError::Busy)"#,
        ORDER,
    );
}

#[test]
fn an_external_handler_expands_as_kept() {
    let item = "async fn charge(idem: Idempotency) -> impl IntoResponse { idem.downstream_key(\"charge\").to_string() }";
    check("handler_external.expanded", r#"route = "payments.charge", on_lapse = "refuse", ttl = "7d""#, item);
}

#[test]
fn a_service_function_expands_as_kept() {
    let item = "async fn place(&self, idem: &Idempotency, mutation: &mut Mutation, sku: &str, (a, b): (u8, u8), at: Instant) -> Result<Order, AppError> { self.insert(mutation, sku).await }";
    check("service.expanded", r#"route = "orders.place", status = 201, fingerprint(skip(at))"#, item);
}

#[test]
fn the_body_stands_in_the_expansion_once_and_as_it_was_written() {
    let expanded = expanded(r#"route = "orders.create""#, ORDER);
    assert_eq!(expanded.matches("app.create(mutation, input).await").count(), 1);
}

#[test]
fn every_path_is_absolute_and_every_name_of_ours_is_prefixed() {
    let expanded =
        expanded(r#"route = "orders.create""#, "async fn f(i: Idempotency) -> String { String::new() }");
    for (index, _) in expanded.match_indices("idem_runtime") {
        assert!(expanded[..index].ends_with("::"), "{}", &expanded[index..index + 40]);
    }
    for line in expanded.lines() {
        if let Some(name) = line.trim().strip_prefix("let ") {
            assert!(
                name.starts_with("__idem")
                    || name.starts_with("i ")
                    || name.starts_with("_ ")
                    || name.starts_with(':'),
                "{line}"
            );
        }
    }
}

#[test]
fn after_a_mistake_the_item_is_still_there() {
    let expanded = expanded(r#"rout = "orders.create""#, ORDER);
    assert!(expanded.contains("pub async fn create_order"));
    assert_eq!(expanded.matches("compile_error").count(), 1, "one mistake, one message");
}
