//! The crates that `bench compile` compiles, as text.

use std::fmt::Write;
use std::path::Path;

use crate::Result;

/// The functions with the attribute.
pub(super) const ANNOTATED: &str = "annotated";
/// The same ones without it.
pub(super) const PLAIN: &str = "plain";
/// Attributes that do nothing, on what all attributes are built from.
pub(super) const STEM: &str = "stem";
/// Ours.
pub(super) const MACROS: &str = "macros";

/// Writes a workspace into `folder`, locked as the one in `root` is.
pub(super) fn write(folder: &Path, root: &Path, functions: usize) -> Result<()> {
    let root = root.canonicalize()?;
    let path = |member: &str| format!("'{}'", root.join(member).display());
    for name in ["Cargo.lock", "rust-toolchain.toml"] {
        std::fs::copy(root.join(name), folder.join(name))?;
    }
    let members = [PLAIN, ANNOTATED, STEM, MACROS];
    let workspace = format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n");
    std::fs::write(folder.join("Cargo.toml"), workspace)?;
    let service = format!(
        "idem-runtime = {{ path = {}, features = [\"sqlite\", \"axum\"] }}\n{SERVICE_DEPENDENCIES}",
        path("idem-runtime")
    );
    package(folder, PLAIN, "", &service, &source(PLAIN_HEAD, PLAIN_KINDS, "pool", functions))?;
    let annotated = source(ANNOTATED_HEAD, ANNOTATED_KINDS, "idem", functions);
    package(folder, ANNOTATED, "", &service, &annotated)?;
    package(folder, STEM, "[lib]\nproc-macro = true\n", STEM_DEPENDENCIES, "")?;
    package(folder, MACROS, "", &format!("idem-macros = {{ path = {} }}\n", path("idem-macros")), "")
}

fn package(folder: &Path, name: &str, library: &str, dependencies: &str, source: &str) -> Result<()> {
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n{library}\n[dependencies]\n{dependencies}"
    );
    let folder = folder.join(name);
    std::fs::create_dir_all(folder.join("src"))?;
    std::fs::write(folder.join("Cargo.toml"), manifest)?;
    std::fs::write(folder.join("src/lib.rs"), source)?;
    Ok(())
}

/// Functions of four kinds in turn, the handlers routed and the others called, so that all of them are compiled
/// to the end.
fn source(head: &str, kinds: [&str; 4], caller: &str, functions: usize) -> String {
    let mut source = format!("{head}{COMMON}");
    let (mut routes, mut calls) = (String::new(), String::new());
    for number in 0..functions {
        let kind = number % kinds.len();
        let text = kinds[kind].replace("{n}", &number.to_string());
        source.push_str(&text);
        // Writing to a `String` never fails.
        let _ = if kind < 2 {
            writeln!(routes, "        .route(\"/f{number}\", post(f{number}))")
        } else {
            writeln!(calls, "        Box::pin(f{number}({caller}, sku, 7)),")
        };
    }
    let tail = ROUTED.replace("{routes}", &routes).replace("{calls}", &calls).replace("{caller}", caller);
    source.push_str(&tail);
    source
}

const SERVICE_DEPENDENCIES: &str = r#"axum = { version = "0.8", default-features = false, features = ["json"] }
serde = { version = "1.0", features = ["derive"] }
sqlx = { version = "0.9", default-features = false, features = ["runtime-tokio", "sqlite"] }
"#;

const STEM_DEPENDENCIES: &str = r#"proc-macro2 = "1.0"
quote = "1.0"
syn = { version = "3.0", features = ["full", "visit-mut"] }
"#;

/// What both crates have before their functions.
const COMMON: &str = include_str!("crates/common.rs.txt");
/// What both crates have after them.
const ROUTED: &str = include_str!("crates/routed.rs.txt");
const PLAIN_HEAD: &str = include_str!("crates/plain_head.rs.txt");
const ANNOTATED_HEAD: &str = include_str!("crates/annotated_head.rs.txt");

/// A handler and a service function, each with a transaction and without one.
const PLAIN_KINDS: [&str; 4] = [
    r#"
pub async fn f{n}(
    State(app): State<App>,
    Json(input): Json<CreateOrder>,
) -> Result<(StatusCode, Json<Order>), AppError> {
    let mut transaction = app.pool.begin().await?;
    sqlx::query("INSERT INTO orders (sku) VALUES (?1)").bind(&input.sku).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok((StatusCode::CREATED, Json(Order { sku: input.sku, task_id: "task-{n}".to_string() })))
}
"#,
    r#"
pub async fn f{n}(State(app): State<App>, Json(input): Json<CreateOrder>) -> Result<Json<Order>, AppError> {
    app.charge(&input.sku, "charge").await?;
    Ok(Json(Order { sku: input.sku, task_id: "task-{n}".to_string() }))
}
"#,
    r#"
pub async fn f{n}(pool: &SqlitePool, sku: &str, count: i64) -> Result<Order, AppError> {
    let mut transaction = pool.begin().await?;
    sqlx::query("INSERT INTO lines (sku, count) VALUES (?1, ?2)")
        .bind(sku)
        .bind(count)
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(Order { sku: sku.to_string(), task_id: "task-{n}".to_string() })
}
"#,
    r#"
pub async fn f{n}(pool: &SqlitePool, sku: &str, count: i64) -> Result<Order, AppError> {
    App { pool: pool.clone() }.charge(sku, "charge").await?;
    Ok(Order { sku: sku.to_string(), task_id: format!("task-{n}-{count}") })
}
"#,
];

/// The same with the attribute.
const ANNOTATED_KINDS: [&str; 4] = [
    r#"
#[idempotent(route = "f{n}", bind = task_id)]
pub async fn f{n}(
    idem: Idempotency,
    mutation: &mut Mutation,
    State(_app): State<App>,
    Json(input): Json<CreateOrder>,
) -> Result<(StatusCode, Json<Order>), AppError> {
    sqlx::query("INSERT INTO orders (sku) VALUES (?1)").bind(&input.sku).execute(&mut **mutation).await?;
    Ok((StatusCode::CREATED, Json(Order { sku: input.sku, task_id: "task-{n}".to_string() })))
}
"#,
    r#"
#[idempotent(route = "f{n}")]
pub async fn f{n}(
    idem: Idempotency,
    State(app): State<App>,
    Json(input): Json<CreateOrder>,
) -> Result<Json<Order>, AppError> {
    app.charge(&input.sku, idem.downstream_key("charge").as_str()).await?;
    Ok(Json(Order { sku: input.sku, task_id: "task-{n}".to_string() }))
}
"#,
    r#"
#[idempotent(route = "f{n}", bind = task_id)]
pub async fn f{n}(
    idem: &Idempotency,
    mutation: &mut Mutation,
    sku: &str,
    count: i64,
) -> Result<Order, AppError> {
    sqlx::query("INSERT INTO lines (sku, count) VALUES (?1, ?2)")
        .bind(sku)
        .bind(count)
        .execute(&mut **mutation)
        .await?;
    Ok(Order { sku: sku.to_string(), task_id: "task-{n}".to_string() })
}
"#,
    r#"
#[idempotent(route = "f{n}")]
pub async fn f{n}(idem: &Idempotency, sku: &str, count: i64) -> Result<Order, AppError> {
    App { guard: idem.guard().clone() }.charge(sku, idem.downstream_key("charge").as_str()).await?;
    Ok(Order { sku: sku.to_string(), task_id: format!("task-{n}-{count}") })
}
"#,
];
