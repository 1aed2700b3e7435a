//! Starts the reference app; all of it is in the library, so that the test suite can start it too.

fn main() -> Result<(), reference_app::StartError> {
    reference_app::main()
}
