//! What the audit says of published events and of outbox handlers.

use serde_json::Value;

use crate::common::{audit, findings};

fn report(source: &str) -> Value {
    let imports = "use idem_runtime::{outbox::{Delivery, Event}, outbox_handler, idempotent, service};\n";
    audit(&format!("{imports}{source}"))
}

fn found(source: &str) -> Vec<String> {
    findings(&report(source))
}

/// A handler of an event, in a transaction.
fn handler(event: &str, version: u32) -> String {
    format!(
        "#[outbox_handler(event = \"{event}\", version = {version}, handler_key = \"h\")] \
         async fn h(d: &Delivery<()>, m: &mut Mutation) {{}}"
    )
}

#[test]
fn an_event_is_taken_by_a_handler_of_its_type_and_version() {
    let publisher = r#"async fn f(m: &mut Mutation) { m.publish(Event::new("a.b", 2, &())).await; }"#;
    for (event, version, lost) in [("a.b", 2, false), ("a.b", 1, true), ("a", 2, true)] {
        let wanted: &[&str] = if lost { &["IDEM010 app::f"] } else { &[] };
        assert_eq!(found(&format!("{publisher} {}", handler(event, version))), wanted, "{event} {version}");
    }
    let other = report(&format!("{publisher} {}", handler("a.b", 1)));
    let message = other["findings"][0]["message"].as_str().unwrap();
    assert!(message.contains("`a.b` version 2, only version 1"), "{message}");
}

#[test]
fn an_event_is_found_wherever_it_is_made_and_told_once() {
    let source = r#"
        const TYPE: &str = "by.constant"; const VERSION: u32 = 1;
        use idem_runtime::outbox::Event as Happened;
        struct Shop; impl Shop { async fn f(&self) { let e = Happened::new("in.method", 1, &()).aggregate("x"); } }
        fn g() { vec![idem_runtime::outbox::Event::new("in.macro", 1, &())]; select! { _ = x => {} }; }
        fn h() { Event::new(TYPE, VERSION, &()); Event::new("in.method", 1, &()); }
        fn i() { fn inner() { Event::new("in.inner", 1, &()); } }"#;
    assert_eq!(
        found(source),
        ["IDEM010 app::Shop::f", "IDEM010 app::g", "IDEM010 app::h", "IDEM010 app::i::inner"]
    );
}

#[test]
fn what_is_no_event_of_ours_or_not_known_is_left_alone() {
    let source = r#"
        mod own { pub struct Event; impl Event { pub fn new(a: &str, b: u32, c: &()) {} } }
        use calendar::Event as Meeting;
        fn f(name: &str) { own::Event::new("a", 1, &()); Meeting::new("b", 1, &()); Event::new(name, 1, &()); }
        #[cfg(test)] mod tests { fn t() { super::Event::new("c", 1, &()); } }"#;
    assert!(found(source).is_empty(), "{:?}", found(source));
}

#[test]
fn an_external_handler_says_what_a_lapse_means() {
    let source = r#"
        #[outbox_handler(event = "a", version = 1, handler_key = "x")] async fn silent(d: &Delivery<()>, c: &Claim) {}
        #[outbox_handler(event = "a", version = 1, handler_key = "y", on_lapse = "rerun")] async fn says(d: &Delivery<()>, app: &App, c: &Claim) {}
        #[outbox_handler(event = "a", version = 1, handler_key = "z")] async fn inside(d: &Delivery<()>, m: &mut Mutation) {}"#;
    assert_eq!(found(source), ["IDEM011 app::silent"]);
}

#[test]
fn a_handler_key_is_used_once_for_each_event_and_version() {
    let one = |name: &str, options: &str| {
        format!("#[outbox_handler({options})] async fn {name}(d: &Delivery<()>, m: &mut Mutation) {{}}\n")
    };
    let first = one("first", r#"event = "a", version = 1, handler_key = "k""#);
    for (options, duplicate) in [
        (r#"handler_key = "k", version = 1, event = "a""#, true),
        (r#"event = "b", version = 1, handler_key = "k""#, false),
        (r#"event = "a", version = 2, handler_key = "k""#, false),
        (r#"event = "a", version = 1, handler_key = "l""#, false),
    ] {
        let wanted: &[&str] = if duplicate { &["IDEM012 app::second"] } else { &[] };
        assert_eq!(found(&format!("{first}{}", one("second", options))), wanted, "{options}");
    }
    let conditional = format!("#[cfg(unix)] {first}#[cfg(windows)] {}", first.replace("first", "second"));
    assert!(found(&conditional).is_empty(), "alternatives");
}

#[test]
fn an_outbox_handler_of_a_service_has_a_stance() {
    let source = r#"#[service] mod s {
        #[idem_runtime::outbox_handler(event = "a", version = 1, handler_key = "k")]
        pub async fn handler(d: &Delivery<()>, m: &mut Mutation) {}
        pub async fn bare() {} }"#;
    assert_eq!(found(source), ["IDEM009 app::s::bare"]);
}
