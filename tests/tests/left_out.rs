//! Says plainly which half of the suites a plain `cargo test` does not run.

fn main() {
    if cfg!(feature = "postgres") {
        println!("every suite runs on SQLite and on PostgreSQL");
    } else {
        println!(
            "LEFT OUT: the PostgreSQL half of every suite; `cargo xtask test` starts a server and runs all"
        );
    }
}
