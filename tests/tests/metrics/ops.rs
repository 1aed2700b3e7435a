//! The dashboard and the alerts name metrics, labels and words that exist.

use std::collections::BTreeSet;
use std::path::Path;

use saphyr::{LoadableYamlNode, Yaml};

use crate::documented;

/// The text of a file in `ops`.
fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ops").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Each `idem_` word of an expression with what stands in the braces behind it.
fn selectors(expression: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut found = Vec::new();
    for (at, _) in expression.match_indices("idem_") {
        let rest = &expression[at..];
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(rest.len());
        let braces = rest[end..].strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let pairs = braces.map_or("", |(inside, _)| inside).split(',').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| {
            let (label, value) = pair.split_once('=').expect("label=value");
            (label.to_owned(), value.trim_matches(['~', '"']).to_owned())
        });
        found.push((rest[..end].to_owned(), pairs.collect()));
    }
    found
}

/// Every name, label and word of `expressions` is documented; gives the names.
fn check(expressions: &[String]) -> BTreeSet<String> {
    let documented = documented::metrics();
    let mut names = BTreeSet::new();
    for expression in expressions {
        let selectors = selectors(expression);
        assert!(!selectors.is_empty(), "no metric of ours in {expression}");
        for (name, pairs) in selectors {
            let name = name.strip_suffix("_bucket").unwrap_or(&name).to_owned();
            let labels = documented.labels.get(&name);
            let labels = labels.unwrap_or_else(|| panic!("no metric {name}: {expression}"));
            for (label, value) in pairs {
                assert!(labels.contains(&label), "{name} has no label {label}: {expression}");
                for word in value.split('|').filter(|word| !word.starts_with('$')) {
                    let known = documented.words.contains(&(name.clone(), label.clone(), word.to_owned()));
                    assert!(known, "{label} of {name} is never {word}: {expression}");
                }
            }
            names.insert(name);
        }
    }
    names
}

/// All values of `expr` and `query` in a dashboard.
fn expressions(value: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(members) => {
            for (name, member) in members {
                match member.as_str() {
                    Some(text) if name == "expr" => found.push(text.to_owned()),
                    _ => expressions(member, found),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        _ => {}
    }
}

#[test]
fn the_dashboard_shows_every_metric_and_no_other() {
    let dashboard: serde_json::Value = serde_json::from_str(&read("grafana/idem.json")).unwrap();
    let mut found = Vec::new();
    expressions(&dashboard, &mut found);
    let all: BTreeSet<_> = documented::metrics().kinds.into_keys().collect();
    assert_eq!(check(&found), all);
}

#[test]
fn the_alerts_ask_for_metrics_that_exist() {
    let text = read("prometheus/idem.rules.yml");
    let rules = Yaml::load_from_str(&text).unwrap();
    let rules = rules[0]["groups"][0]["rules"].as_sequence().unwrap();
    let word = |rule: &Yaml<'_>, name: &str| rule[name].as_str().map(str::to_owned);
    let expressions: Vec<_> = rules.iter().map(|rule| word(rule, "expr").expect("an expression")).collect();
    check(&expressions);
    for rule in rules {
        let alert = word(rule, "alert").expect("a name");
        for annotation in ["summary", "description"] {
            assert!(word(&rule["annotations"], annotation).is_some(), "{alert} has no {annotation}");
        }
        assert!(word(&rule["labels"], "severity").is_some(), "{alert} has no severity");
    }
}
