//! The reference app as a program of this package, so that its tests find it by `CARGO_BIN_EXE_reference`.

fn main() -> Result<(), reference_app::StartError> {
    reference_app::main()
}
