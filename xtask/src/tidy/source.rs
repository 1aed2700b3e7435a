//! A Rust file without its comments and texts, so that the rules see only code.

/// One source file; lines count from one.
pub(super) struct Source {
    code: String,
    tests: Vec<bool>,
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Self {
        let code = blank_comments_and_texts(text);
        let all = path.contains("tests/") || path.ends_with("/tests.rs") || path.ends_with("_tests.rs");
        let tests = if all { vec![true; text.lines().count()] } else { test_lines(&code) };
        Self { code, tests }
    }

    /// The code, with blanks where comments and texts were.
    pub(super) fn code(&self) -> &str {
        &self.code
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.lines().enumerate().map(|(index, code)| (index + 1, code))
    }

    /// Whether the line belongs to an item under `#[cfg(test)]`, or the whole file to a test.
    pub(super) fn is_test(&self, line: usize) -> bool {
        self.tests.get(line - 1).copied().unwrap_or(false)
    }

    pub(super) fn line_at(&self, offset: usize) -> usize {
        line_at(&self.code, offset)
    }
}

pub(super) fn is_name_part(letter: char) -> bool {
    letter == '_' || letter.is_alphanumeric()
}

fn line_at(code: &str, offset: usize) -> usize {
    code[..offset].matches('\n').count() + 1
}

/// Same length, same lines; the quotes of texts stay.
fn blank_comments_and_texts(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let blanked = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some(hashes) = raw_text(rest, &code) {
            let close = format!("\"{}", "#".repeat(hashes));
            let open = rest.find('"').map_or(0, |quote| quote + 1);
            rest[open..].find(&close).map_or(rest.len(), |end| open + end + close.len())
        } else if letter == '"' {
            quoted(rest, '"')
        } else if letter == '\'' && is_letter(rest) {
            quoted(rest, '\'')
        } else {
            code.push(letter);
            rest = &rest[letter.len_utf8()..];
            continue;
        };
        let (gone, after) = rest.split_at(blanked);
        code.extend(gone.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        rest = after;
    }
    code
}

/// The length of a comment that may hold others.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest.as_bytes()[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.as_bytes()[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The number of hashes of a raw text that begins here; `r` at the end of a name begins none.
fn raw_text(rest: &str, before: &str) -> Option<usize> {
    let after =
        rest.strip_prefix('r').or_else(|| rest.strip_prefix("br")).or_else(|| rest.strip_prefix("cr"))?;
    let hashes = after.bytes().take_while(|&byte| byte == b'#').count();
    (after[hashes..].starts_with('"') && !before.ends_with(is_name_part)).then_some(hashes)
}

/// Whether this quote begins a letter such as `'x'`, not a lifetime.
fn is_letter(rest: &str) -> bool {
    let mut letters = rest.chars().skip(1);
    letters.next() == Some('\\') || letters.next() == Some('\'')
}

/// The length of a text or letter, its quotes included.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        if letter == quote && !escaped {
            return at + 1;
        }
        escaped = letter == '\\' && !escaped;
    }
    rest.len()
}

fn test_lines(code: &str) -> Vec<bool> {
    let mut tests = vec![false; code.lines().count()];
    for (start, _) in code.match_indices("#[cfg(test)]") {
        let end = start + item_length(&code[start..]);
        for line in line_at(code, start)..=line_at(code, end) {
            if let Some(test) = tests.get_mut(line - 1) {
                *test = true;
            }
        }
    }
    tests
}

/// Up to the brace that closes the item, or the semicolon of one without a body.
fn item_length(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, letter) in code.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth <= 1 => return at,
            '}' => depth -= 1,
            ';' if depth == 0 => return at,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_texts_become_blanks_of_the_same_length() {
        for (text, code) in [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            ("f(\"a\\\"b\", 'x', '\\'', b\"y\")", "f(      ,    ,     , b   )"),
            ("r#\"a\"b\"# r\"c\" br##\"d\"##", "                       "),
            ("fn f<'a>(x: &'a str) -> r#type {}", "fn f<'a>(x: &'a str) -> r#type {}"),
            ("var\"x\"", "var   "),
        ] {
            assert_eq!(blank_comments_and_texts(text), code, "{text}");
        }
        assert_eq!(blank_comments_and_texts("// grün\nx").len(), "// grün\nx".len());
    }

    #[test]
    fn a_test_item_ends_where_its_braces_do() {
        let source = Source::new(
            "a.rs",
            "x\n#[cfg(test)]\nmod t {\n  fn f() { \"}\" }\n}\ny\n#[cfg(test)]\nuse z;\nw",
        );
        let tests: Vec<usize> = (1..=9).filter(|&line| source.is_test(line)).collect();
        assert_eq!(tests, [2, 3, 4, 5, 7, 8]);
    }
}
