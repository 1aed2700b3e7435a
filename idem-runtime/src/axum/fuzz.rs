//! Fuzz targets: any bytes at all in place of a key, an error and an answer.
//!
//! Compiled for tests and for `cargo fuzz` alone; each target panics when a promise does not hold.

mod key;
mod problem;
mod replay;
mod structured;

pub use key::key;
pub use problem::problem;
pub use replay::replay;

#[cfg(test)]
mod tests {
    use crate::fingerprint::fuzz::bounded;

    #[test]
    fn a_key_is_what_the_grammar_of_rfc_9651_says() {
        bounded::run("key", super::key);
    }

    #[test]
    fn a_problem_is_one_json_object_whatever_an_error_carries() {
        bounded::run("problem", super::problem);
    }

    #[test]
    fn a_replay_is_the_first_answer_byte_for_byte() {
        bounded::run("replay", super::replay);
    }
}
