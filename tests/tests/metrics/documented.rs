//! What docs/metrics.md lists, read from its tables.

use crate::Metrics;

/// The words in backquotes.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The table of metrics, and each `## label of metric and metric` with the table below it.
pub(crate) fn metrics() -> Metrics {
    let text = include_str!("../../../docs/metrics.md");
    let mut found = Metrics::default();
    let mut section: Vec<String> = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = quoted(heading);
        }
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let Some(name) = cells.get(1).and_then(|cell| quoted(cell).pop()) else { continue };
        match section.split_first() {
            None => {
                found.kinds.insert(name.clone(), cells[2].to_owned());
                found.labels.insert(name, quoted(cells[3]).into_iter().collect());
            }
            Some((label, metrics)) => {
                for metric in metrics {
                    assert!(found.labels[metric].contains(label), "{metric} has no label {label}");
                    found.words.insert((metric.clone(), label.clone(), name.clone()));
                }
            }
        }
    }
    found
}
