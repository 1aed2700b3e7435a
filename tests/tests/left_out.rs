//! Says plainly which half of the suites a plain `cargo test` does not run.

fn main() {
    for (database, runs) in [("PostgreSQL", cfg!(feature = "postgres")), ("MySQL", cfg!(feature = "mysql"))] {
        if runs {
            println!("every suite that is not of one database alone runs on {database} too");
        } else {
            println!("LEFT OUT: {database} in every suite; `cargo xtask test` starts a server and runs all");
        }
    }
}
