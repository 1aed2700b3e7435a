//! A password in a URL is never printed.

use crate::at::idem;

#[test]
fn no_error_and_no_help_prints_the_password() {
    let urls = [
        // Nobody listens there.
        "postgres://ann:s3cret@127.0.0.1:1/shop",
        "postgres://127.0.0.1:1/shop?user=ann&password=s3cret",
        "postgres://ann:s3cret@127.0.0.1:port/shop",
        "postgres://ann:s3cret/x@127.0.0.1:1/shop",
        "postgres://ann:s3cret@127.0.0.1:1/shop?sslmode=nonsense",
        "mysql://ann:s3cret@127.0.0.1:1/shop",
        "mariadb://ann:s3cret@127.0.0.1:1/shop?ssl-mode=nonsense",
    ];
    for url in urls {
        for arguments in [&["stats"][..], &["stats", "--json"], &["doctor"], &["stats", "--nonsense"]] {
            let ran = idem(url, arguments).ended(2);
            assert!(!ran.err().contains("s3cret") && !ran.out().contains("s3cret"), "{url}: {}", ran.err());
            assert!(!ran.err().is_empty());
        }
        for arguments in [&["--help"][..], &["stats", "--help"], &["man", "stats"], &["completions", "bash"]]
        {
            assert!(!idem(url, arguments).ended(0).out().contains("s3cret"), "{arguments:?}");
        }
    }
    // Also when it is an argument.
    let ran = idem("sqlite:none", &["list", "--limit", "0", "--database-url", urls[0]]).ended(2);
    assert!(!ran.err().contains("s3cret"), "{}", ran.err());
}

#[test]
fn a_server_that_refuses_is_named_without_the_password() {
    let ran = idem("postgres://ann:s3cret@127.0.0.1:1/shop?sslmode=disable", &["stats"]).ended(2);
    assert!(ran.err().contains("postgres://ann@127.0.0.1:1/shop:"), "{}", ran.err());
}
