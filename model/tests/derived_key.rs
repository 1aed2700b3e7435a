//! The provider of the model tells keys apart as the real one would.

use idem_model::{Claim, Row, Setup, Token};
use idem_runtime::{DownstreamKey, Mode, OnLapse, Status};

#[test]
fn a_derived_key_is_one_for_all_attempts_of_a_life_and_another_in_the_next() {
    let setup = Setup::new(Mode::External, OnLapse::Rerun).unwrap();
    let (first, second) = (Claim::of(0, 1), Claim::of(1, 1));
    let row = Row {
        request: first.request(),
        status: Status::Processing,
        token: Token { attempt: 1, claim: first },
        revision: 1,
        answer: None,
        leased: true,
        past_life: false,
        unknown: false,
        released: false,
        created: first,
        life: 0,
    };
    let key = |row: Row| DownstreamKey::of(&row.record(&setup), "charge").to_string();
    let again = Row { token: Token { attempt: 2, claim: second }, revision: 2, ..row };
    assert_eq!(key(row), key(again));
    assert_ne!(key(row), key(Row { created: second, ..again }));
}
