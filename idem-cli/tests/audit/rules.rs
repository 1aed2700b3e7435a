//! What each rule finds, and what it leaves alone.

use crate::common::{audit, code, findings, idem, json, stdout};

fn found(source: &str) -> Vec<String> {
    let imports = "use idem_runtime::{idempotent, exempt, read_only, service};\n\
                   use idem_runtime::axum::{Router, post, exempt as exempted, read_only as reads};\n";
    findings(&audit(&format!("{imports}{source}")))
}

#[test]
fn every_mistake_of_the_fixture_is_found_once() {
    let report = json(&idem(&["audit", "idem-app", "--json", "--today", "2026-12-01"]));
    assert_eq!(
        findings(&report),
        [
            "IDEM010 idem_app::events::announce",
            "IDEM010 idem_app::events::announce",
            "IDEM011 idem_app::events::mail",
            "IDEM012 idem_app::events::letter",
            "IDEM003 idem_app::ledger::Ledger::close",
            "IDEM004 idem_app::ledger::Ledger::open",
            "IDEM009 idem_app::ledger::Ledger::settle",
            "IDEM005 POST /refunds idem_app::refund",
            "IDEM001 POST /carts idem_app::orders::create_cart",
            "IDEM001 ANY /files files()",
            "IDEM008 ANY /files files()",
            "IDEM008 ANY /static nest_service_unchecked",
            "IDEM001 ANY /static/* files()",
            "IDEM008 ANY * merge_unchecked",
            "IDEM001 POST /raw idem_app::login",
            "IDEM004 ANY * idem_app::login",
            "IDEM006 idem_app::orders::replace",
            "IDEM007 idem_app::orders::replace",
        ]
    );
}

#[test]
fn an_application_that_says_everything_has_no_findings() {
    let source = r#"
        #[idempotent(route = "a", on_lapse = "rerun")] async fn a(idem: Idempotency) {}
        #[idempotent(route = "b")] async fn b(idem: Idempotency, mutation: &mut Mutation) { c(&idem).await; }
        #[idempotent(route = "c")] async fn c(idem: &Idempotency, m: &mut idem_runtime::Mutation) {}
        async fn d(idem: Delegated) { c(&idem).await; }
        async fn plain() {}
        fn app() -> Router {
            Router::new().route("/a", post(a)).route("/b", post(b)).route("/d", post(d))
                .route("/e", post(exempted("a login may be repeated", plain).until("2026-12-01")))
                .route("/f", post(reads(plain)))
        }"#;
    assert!(found(source).is_empty(), "{:?}", found(source));
}

#[test]
fn the_last_day_of_an_exemption_still_counts() {
    for (today, exit) in [("2027-01-31", 0), ("2027-02-01", 1)] {
        let output = idem(&["audit", "expired", "--today", today]);
        assert_eq!(code(&output), exit, "{}", stdout(&output));
    }
}

#[test]
fn a_date_that_cannot_be_read_counts_as_past() {
    assert_eq!(
        found(r#"#[exempt(reason = "long enough", until = "31.1.2027")] async fn f() {}"#),
        ["IDEM003 app::f"]
    );
    let source = r#"fn app() -> Router { Router::new().route("/a", post(exempted("long enough", f).until(LATER))) } async fn f() {}"#;
    assert_eq!(found(source), ["IDEM003 POST /a app::f"]);
}

#[test]
fn a_reason_is_ten_characters_without_the_blanks_around_it() {
    for (reason, weak) in [("ten chars!", false), (" nine char ", true), ("", true), ("äöüäöüäöüä", false)]
    {
        let source = format!("#[exempt(reason = \"{reason}\")] async fn f() {{}}");
        assert_eq!(!found(&source).is_empty(), weak, "{reason}");
    }
    let source = r#"const WHY: &str = "short";
        fn app() -> Router { Router::new().route("/a", post(exempted(WHY, f))).route("/b", post(exempted(why(), f))) }
        async fn f() {} fn why() -> &'static str { include_str!("why") }"#;
    assert_eq!(found(source), ["IDEM004 POST /a app::f"]);
}

#[test]
fn an_exemption_without_a_route_is_looked_at_too() {
    assert_eq!(found(r#"fn f() { let x = exempted("short", g); } async fn g() {}"#), ["IDEM004 app::g"]);
}

#[test]
fn an_annotation_behind_an_open_route_is_found_through_methods_and_closures() {
    let source = r#"
        struct Shop; impl Shop { #[idempotent(route = "s", on_lapse = "rerun")] async fn order(&self, idem: &Idempotency) {} }
        async fn one(shop: Shop) { two(shop).await }
        async fn two(shop: Shop) { shop.order(&idem).await }
        #[idempotent(route = "t", on_lapse = "rerun")] async fn three(idem: Idempotency) {}
        fn app() -> Router {
            Router::new().route("/a", post(reads(one))).route("/b", post(|shop: Shop| async move { two(shop).await }))
                .route("/c", post(exempted("long enough", three)))
        }"#;
    assert_eq!(
        found(source),
        [
            "IDEM005 POST /a app::one",
            "IDEM001 POST /b closure in app::app",
            "IDEM005 POST /b closure in app::app",
            "IDEM005 POST /c app::three"
        ]
    );
}

#[test]
fn alternatives_under_cfg_may_share_a_name() {
    let source = r#"
        #[cfg(unix)] #[idempotent(route = "a")] async fn a(i: Idempotency, m: &mut Mutation) {}
        #[cfg(windows)] #[idempotent(route = "a")] async fn b(i: Idempotency, m: &mut Mutation) {}
        #[idempotent(route = "c")] async fn c(i: Idempotency, m: &mut Mutation) {}
        mod m { #[idempotent(route = "c")] async fn d(i: Idempotency, m: &mut Mutation) {} }"#;
    assert_eq!(found(source), ["IDEM007 app::m::d"]);
}

#[test]
fn a_service_is_an_impl_a_trait_or_a_module() {
    let source = r#"
        #[service] impl A { pub async fn a(&self) {} pub fn sync(&self) {} async fn private(&self) {} #[read_only] pub async fn r(&self) {} }
        struct A;
        #[service] trait B { async fn b(&self); #[exempt(reason = "long enough")] async fn e(&self); }
        #[service] mod c { pub async fn c() {} pub(crate) fn f() -> BoxFuture<'static, ()> {} async fn private() {} }
        mod free { pub async fn free() {} }"#;
    assert_eq!(
        found(source),
        ["IDEM009 app::A::a", "IDEM009 app::B::b", "IDEM009 app::c::c", "IDEM009 app::c::f"]
    );
}

#[test]
fn an_attribute_of_another_crate_is_no_stance() {
    let source = r#"use retry::idempotent; use axum::{Router, routing::post};
        #[idempotent] async fn a() {} #[cfg_attr(feature = "x", idem_runtime::read_only)] async fn b() {}
        fn app() -> Router { Router::new().route("/a", post(a)).route("/b", post(b)) }"#;
    assert_eq!(findings(&audit(source)), ["IDEM001 POST /a app::a"]);
}

#[test]
fn each_rule_has_a_page_that_names_it_and_shows_the_fix() {
    for number in 1..=12 {
        let rule = format!("IDEM{number:03}");
        let output = idem(&["audit", "--explain", &rule]);
        let page = stdout(&output);
        assert_eq!(code(&output), 0);
        assert!(page.starts_with(&format!("# {rule}: ")), "{page}");
        for heading in ["## What it finds", "## Why it matters", "## Example", "## Fix"] {
            assert!(page.contains(heading), "{rule} lacks `{heading}`");
        }
    }
    assert_eq!(code(&idem(&["audit", "--explain", "IDEM999"])), 2);
}
