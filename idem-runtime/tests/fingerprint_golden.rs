//! Stored fingerprints must stay comparable for ever: `golden/fingerprints.txt` says what each input gives.
//!
//! One case per line, four fields parted by tabs: name, kind, inputs as JSON, expected text. The kinds
//! `http`, `json`, `bytes` and `of` expect what `Keyring::seal` gives, `members` what `seal_members` gives of
//! a JSON text. For `of`, `value` names a value below and `body` is the JSON that it stands for. `refused`
//! stands for an error.

use std::collections::HashMap;

use data_encoding::HEXLOWER;
use idem_runtime::fingerprint::{Comparison, Fingerprint, FingerprintError, HttpRequest, Keyring, Secret};
use serde::{Deserialize, Serialize};

const GOLDEN: &str = include_str!("golden/fingerprints.txt");

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Inputs {
    method: String,
    path: String,
    query: Option<String>,
    content_type: Option<String>,
    body: String,
    body_hex: String,
    ignore: Vec<String>,
    value: String,
    /// Id and hexadecimal bytes.
    secret: Option<(String, String)>,
}

impl Inputs {
    fn body(&self) -> Vec<u8> {
        if self.body_hex.is_empty() {
            return self.body.clone().into_bytes();
        }
        bytes(&self.body_hex)
    }

    fn keyring(&self) -> Keyring {
        self.secret.as_ref().map_or_else(Keyring::plain, |(id, hex)| {
            Keyring::new(Secret::new(id, &bytes(hex)).expect("a well-formed secret"))
        })
    }

    fn fingerprint(&self, kind: &str) -> Result<Fingerprint, FingerprintError> {
        let body = self.body();
        match kind {
            "http" => {
                let ignore: Vec<&str> = self.ignore.iter().map(String::as_str).collect();
                HttpRequest::new(&self.method, &self.path)
                    .query(self.query.as_deref())
                    .content_type(self.content_type.as_deref())
                    .body(&body)
                    .ignore(&ignore)
                    .fingerprint()
            }
            "json" | "members" => Fingerprint::json(&body),
            "bytes" => Ok(Fingerprint::bytes(self.content_type.as_deref().unwrap_or_default(), &body)),
            "of" => {
                let taken = of(&self.value);
                assert_eq!(taken, Fingerprint::json(&body), "`{}` is not what its body says", self.value);
                taken
            }
            other => panic!("unknown kind `{other}`"),
        }
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    HEXLOWER.decode(hex.as_bytes()).expect("lower-case hexadecimal digits")
}

#[derive(Serialize)]
struct Order {
    id: u64,
    price: f64,
    note: Option<String>,
    tags: Vec<char>,
    #[serde(skip_serializing)]
    _trace: u8,
}

fn of(value: &str) -> Result<Fingerprint, FingerprintError> {
    match value {
        "unit" => Fingerprint::of(&()),
        "text" => Fingerprint::of("a\"é"),
        "order" => {
            Fingerprint::of(&Order { id: u64::MAX, price: 19.5, note: None, tags: vec!['x'], _trace: 1 })
        }
        "map" => Fingerprint::of(&HashMap::from([("a", 1), ("b", 2)])),
        "float" => Fingerprint::of(&1e16),
        "not a number" => Fingerprint::of(&[f64::NAN]),
        "arguments" => Fingerprint::of(&("t-1", 7, HashMap::from([("Some", 1)]))),
        other => panic!("unknown value `{other}`"),
    }
}

fn compute(kind: &str, inputs: &Inputs) -> String {
    let Ok(fingerprint) = inputs.fingerprint(kind) else {
        return "refused".to_owned();
    };
    let keyring = inputs.keyring();
    if kind == "members" {
        return keyring.seal_members(&fingerprint).unwrap_or_else(|| "none".to_owned());
    }
    let sealed = keyring.seal(&fingerprint);
    assert_eq!(keyring.compare(&fingerprint, &sealed), Comparison::Same);
    sealed
}

#[test]
fn fingerprints_are_what_they_always_were() {
    let mut differences = Vec::new();
    let mut names = HashMap::new();
    for (number, line) in GOLDEN.lines().enumerate() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, kind, inputs, expected] = fields[..] else {
            panic!("line {} has not four fields", number + 1)
        };
        let inputs: Inputs = serde_json::from_str(inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(names.insert(name, number), None, "`{name}` is there twice");
        let actual = compute(kind, &inputs);
        if actual != expected {
            differences.push(format!("{}: {name}\n- {expected}\n+ {actual}", number + 1));
        }
    }
    assert!(names.len() >= 40, "only {} cases", names.len());
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}
