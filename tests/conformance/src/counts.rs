//! How often bodies were entered and what they left, as the server counts it for one case.

use serde_json::Value;

use crate::client::Server;
use crate::message::{Framing, Message};

/// The counters of one case.
#[derive(Debug, Clone)]
pub(crate) struct Counts(Value);

impl Counts {
    /// Asks the server.
    pub(crate) async fn of(server: &Server, case: &str) -> Result<Self, String> {
        let message = Message {
            method: "GET".to_owned(),
            path: format!("/__test/counts?case={case}"),
            headers: Vec::new(),
            body: None,
            framing: Framing::default(),
        };
        let answer = server.send(&message).await.map_err(|error| format!("the counters: {error}"))?;
        if answer.status != 200 {
            return Err(format!("the counters: {answer}"));
        }
        Ok(Self(answer.json()))
    }

    /// Entries into the body of the route of `path`; `None` when the server cannot say.
    pub(crate) fn executed(&self, method: &str, path: &str) -> Option<u64> {
        self.count("executed", method, path)
    }

    /// Committed business rows of the route of `path`; `None` when the server cannot say.
    pub(crate) fn effects(&self, method: &str, path: &str) -> Option<u64> {
        self.count("effects", method, path)
    }

    fn count(&self, kind: &str, method: &str, path: &str) -> Option<u64> {
        let path = path.split_once('?').map_or(path, |(path, _)| path);
        let counts = self.0.get(kind)?.as_object()?;
        let ours = counts.iter().filter(|(route, _)| {
            route.split_once(' ').is_some_and(|(of, route)| of == method && fits(route, path))
        });
        Some(ours.filter_map(|(_, count)| count.as_u64()).sum())
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Whether a path belongs to a route such as `/profiles/{id}`.
fn fits(route: &str, path: &str) -> bool {
    let (mut route, mut path) = (route.split('/'), path.split('/'));
    loop {
        match (route.next(), path.next()) {
            (None, None) => return true,
            (Some(wanted), Some(part)) if wanted == part || wanted.starts_with('{') => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_with_a_parameter_counts_for_every_path_of_it() {
        let counts = Counts(serde_json::json!({
            "executed": { "PUT /profiles/{id}": 2, "PUT /profiles": 5, "POST /slow": 1 }, "effects": null,
        }));
        assert_eq!(counts.executed("PUT", "/profiles/ab"), Some(2));
        assert_eq!(counts.executed("POST", "/slow?ms=5"), Some(1));
        assert_eq!(counts.executed("POST", "/profiles/ab"), Some(0));
        assert_eq!(counts.effects("POST", "/slow"), None);
    }
}
