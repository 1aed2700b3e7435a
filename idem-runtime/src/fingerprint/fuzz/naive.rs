//! JSON as RFC 8259 defines it, read letter by letter; slow and plain.

use std::collections::BTreeMap;

const DEEPEST: usize = 128;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Null,
    Boolean(bool),
    Number(Decimal),
    Text(String),
    Array(Vec<Value>),
    /// By the UTF-16 code units of the names.
    Object(BTreeMap<Vec<u16>, Value>),
}

/// 0.`digits` times ten to the power of `point`; zero has no digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decimal {
    pub(super) negative: bool,
    pub(super) digits: String,
    pub(super) point: i128,
}

/// The value of a text, or `None` where it has none.
pub(super) fn read(text: &[u8]) -> Option<Value> {
    let letters: Vec<char> = std::str::from_utf8(text).ok()?.chars().collect();
    let mut reader = Reader { letters, at: 0 };
    let value = reader.value(0)?;
    reader.blanks();
    (reader.at == reader.letters.len()).then_some(value)
}

struct Reader {
    letters: Vec<char>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += 1;
        Some(letter)
    }

    fn is_next(&mut self, wanted: char) -> bool {
        let is = self.peek() == Some(wanted);
        self.at += usize::from(is);
        is
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r')) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Option<Value> {
        word.chars().all(|letter| self.is_next(letter)).then_some(value)
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.blanks();
        match self.peek()? {
            'n' => self.word("null", Value::Null),
            't' => self.word("true", Value::Boolean(true)),
            'f' => self.word("false", Value::Boolean(false)),
            '"' => self.text().map(Value::Text),
            '[' | '{' if depth == DEEPEST => None,
            '[' => self.array(depth + 1),
            '{' => self.object(depth + 1),
            _ => self.number().map(Value::Number),
        }
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.next();
        let mut items = Vec::new();
        self.blanks();
        if self.is_next(']') {
            return Some(Value::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.blanks();
            match self.next()? {
                ',' => {}
                ']' => return Some(Value::Array(items)),
                _ => return None,
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.next();
        let mut members = BTreeMap::new();
        self.blanks();
        if self.is_next('}') {
            return Some(Value::Object(members));
        }
        loop {
            self.blanks();
            let name = self.text()?.encode_utf16().collect();
            self.blanks();
            if !self.is_next(':') || members.contains_key(&name) {
                return None;
            }
            members.insert(name, self.value(depth)?);
            self.blanks();
            match self.next()? {
                ',' => {}
                '}' => return Some(Value::Object(members)),
                _ => return None,
            }
        }
    }

    fn text(&mut self) -> Option<String> {
        if !self.is_next('"') {
            return None;
        }
        let mut units = Vec::new();
        loop {
            let letter = match self.next()? {
                '"' => return String::from_utf16(&units).ok(),
                '\\' => match self.next()? {
                    letter @ ('"' | '\\' | '/') => letter,
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'u' => {
                        let digits: Option<Vec<u32>> = (0..4).map(|_| self.next()?.to_digit(16)).collect();
                        let unit = digits?.into_iter().fold(0, |unit, digit| unit * 16 + digit);
                        units.push(u16::try_from(unit).ok()?);
                        continue;
                    }
                    _ => return None,
                },
                control if control < ' ' => return None,
                letter => letter,
            };
            units.extend(letter.encode_utf16(&mut [0; 2]).iter());
        }
    }

    fn digits(&mut self) -> String {
        let mut digits = String::new();
        while let Some(digit) = self.peek().filter(char::is_ascii_digit) {
            digits.push(digit);
            self.at += 1;
        }
        digits
    }

    fn number(&mut self) -> Option<Decimal> {
        let negative = self.is_next('-');
        let whole = self.digits();
        if whole.is_empty() || (whole.len() > 1 && whole.starts_with('0')) {
            return None;
        }
        let mut fraction = String::new();
        if self.is_next('.') {
            fraction = self.digits();
            if fraction.is_empty() {
                return None;
            }
        }
        let (mut lower, mut exponent) = (false, String::from("0"));
        if self.is_next('e') || self.is_next('E') {
            lower = self.is_next('-');
            if !lower {
                self.is_next('+');
            }
            exponent = self.digits();
            if exponent.is_empty() {
                return None;
            }
        }
        let all = format!("{whole}{fraction}");
        let digits = all.trim_start_matches('0');
        if digits.is_empty() {
            return Some(Decimal { negative: false, digits: String::new(), point: 0 });
        }
        let exponent = exponent.trim_start_matches('0');
        if exponent.len() > 18 {
            return None;
        }
        let exponent: i128 = if exponent.is_empty() { 0 } else { exponent.parse().ok()? };
        let exponent = if lower { -exponent } else { exponent };
        let shift = i128::try_from(whole.len() + digits.len()).ok()? - i128::try_from(all.len()).ok()?;
        Some(Decimal { negative, digits: digits.trim_end_matches('0').to_owned(), point: shift + exponent })
    }
}
