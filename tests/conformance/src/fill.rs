//! Fills the names of a case with values of this run, so that no two runs share a key.

use uuid::Uuid;

use crate::case::{Body, Repeated};

/// The values of one case in one run.
#[derive(Debug, Clone)]
pub(crate) struct Values {
    names: [(&'static str, String); 4],
    /// The number of the connection, where there are several.
    connection: Option<usize>,
}

impl Values {
    /// Fresh ones.
    pub(crate) fn fresh() -> Self {
        let random = Uuid::new_v4();
        let digits = format!("{:010}", random.as_u128() % 10_000_000_000);
        let unique = random.simple().to_string()[..12].to_owned();
        let names = [
            ("${key}", Uuid::new_v4().to_string()),
            ("${key2}", Uuid::new_v4().to_string()),
            ("${uniq}", unique),
            ("${digits}", digits),
        ];
        Self { names, connection: None }
    }

    /// The same for one of several connections.
    pub(crate) fn of_connection(&self, number: usize) -> Self {
        Self { connection: Some(number), ..self.clone() }
    }

    /// The text with its names replaced.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut filled = text.to_owned();
        for (name, value) in &self.names {
            filled = filled.replace(name, value);
        }
        match self.connection {
            Some(number) => filled.replace("${n}", &number.to_string()),
            None => filled,
        }
    }

    /// A long text.
    pub(crate) fn repeat(&self, text: &Repeated) -> String {
        let Repeated { prefix, repeat, times, suffix } = text;
        [self.fill(prefix), self.fill(repeat).repeat(*times), self.fill(suffix)].concat()
    }

    /// The bytes of a request's body.
    pub(crate) fn body(&self, body: &Body) -> Result<Vec<u8>, String> {
        match body {
            Body::Text(text) => Ok(self.fill(text).into_bytes()),
            Body::Long(text) => Ok(self.repeat(text).into_bytes()),
            Body::Bytes { bytes } => {
                hexadecimal(bytes).ok_or_else(|| format!("`{bytes}` is not hexadecimal"))
            }
        }
    }
}

/// Pairs of digits, or a range such as `00-ff`.
fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let byte = |digits: &str| u8::from_str_radix(digits, 16).ok();
    if let Some((first, last)) = text.split_once('-') {
        return Some((byte(first)?..=byte(last)?).collect());
    }
    (0..text.len()).step_by(2).map(|at| byte(text.get(at..at + 2)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_values_of_this_run() {
        let values = Values::fresh();
        assert_eq!(values.fill("${key}"), values.fill("${key}"));
        assert_ne!(values.fill("${key}"), values.fill("${key2}"));
        assert_ne!(values.fill("${key}"), Values::fresh().fill("${key}"));
        assert_eq!(values.fill("${uniq}").len(), 12);
        assert!(values.fill("${digits}").bytes().all(|digit| digit.is_ascii_digit()));
        assert_eq!(values.of_connection(7).fill("a-${n}"), "a-7");
    }

    #[test]
    fn bytes_are_written_as_digits_or_as_a_range() {
        assert_eq!(hexadecimal("00-ff").unwrap().len(), 256);
        assert_eq!(hexadecimal("0aff").unwrap(), [10, 255]);
        assert_eq!(hexadecimal("0g"), None);
        assert_eq!(hexadecimal("0"), None);
    }
}
