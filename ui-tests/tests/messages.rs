//! Every case under `fail/` gives the message beside it; every one under `pass/` compiles.

#[test]
fn every_mistake_has_its_message_and_every_shape_compiles() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("fail/*.rs");
    cases.pass("pass/*.rs");
}
