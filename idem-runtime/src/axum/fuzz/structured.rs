//! Strings with parameters, read straight after the algorithms of RFC 9651, section 4.2, with no code of ours.

/// The string that a field is, or `None` when it is no string item.
pub(super) fn string_item(field: &[u8]) -> Option<String> {
    let mut input = Input(field);
    input.blanks();
    let text = input.string()?;
    input.parameters()?;
    input.blanks();
    input.0.is_empty().then_some(text)
}

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn next_if(&mut self, wanted: impl Fn(u8) -> bool) -> Option<u8> {
        self.0.first().copied().filter(|byte| wanted(*byte))?;
        self.next()
    }

    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> Vec<u8> {
        std::iter::from_fn(|| self.next_if(&wanted)).collect()
    }

    fn blanks(&mut self) {
        self.take_while(|byte| byte == b' ');
    }

    fn string(&mut self) -> Option<String> {
        self.next_if(|byte| byte == b'"')?;
        let mut text = String::new();
        loop {
            match self.next()? {
                b'"' => return Some(text),
                b'\\' => text.push(char::from(self.next_if(|byte| matches!(byte, b'"' | b'\\'))?)),
                byte @ b' '..=b'~' => text.push(char::from(byte)),
                _ => return None,
            }
        }
    }

    fn parameters(&mut self) -> Option<()> {
        while self.next_if(|byte| byte == b';').is_some() {
            self.blanks();
            self.next_if(|byte| byte.is_ascii_lowercase() || byte == b'*')?;
            self.take_while(|byte| {
                byte.is_ascii_lowercase()
                    || byte.is_ascii_digit()
                    || matches!(byte, b'_' | b'-' | b'.' | b'*')
            });
            if self.next_if(|byte| byte == b'=').is_some() {
                self.bare_item()?;
            }
        }
        Some(())
    }

    fn bare_item(&mut self) -> Option<()> {
        match *self.0.first()? {
            b'"' => self.string().map(drop),
            b'-' | b'0'..=b'9' => self.number().map(drop),
            b'?' => {
                self.next()?;
                self.next_if(|byte| matches!(byte, b'0' | b'1')).map(drop)
            }
            b'@' => {
                self.next()?;
                self.number().filter(|integer| *integer).map(drop)
            }
            b':' => self.bytes(),
            b'%' => self.display_string(),
            byte if byte.is_ascii_alphabetic() || byte == b'*' => {
                self.take_while(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(&byte));
                Some(())
            }
            _ => None,
        }
    }

    /// Whether the number is an integer.
    fn number(&mut self) -> Option<bool> {
        self.next_if(|byte| byte == b'-');
        let whole = self.take_while(|byte| byte.is_ascii_digit()).len();
        if whole == 0 {
            return None;
        }
        if self.next_if(|byte| byte == b'.').is_none() {
            return (whole <= 15).then_some(true);
        }
        let fraction = self.take_while(|byte| byte.is_ascii_digit()).len();
        (whole <= 12 && (1..=3).contains(&fraction)).then_some(false)
    }

    fn bytes(&mut self) -> Option<()> {
        self.next()?;
        let text = self.take_while(|byte| byte != b':');
        self.next()?;
        let digits = text.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
        let alphabet = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        // The RFC leaves wrong padding to the reader; what has the letters and the length of base64 is one.
        (text[..digits].iter().all(alphabet) && digits % 4 != 1).then_some(())
    }

    fn display_string(&mut self) -> Option<()> {
        self.next()?;
        self.next_if(|byte| byte == b'"')?;
        let mut bytes = Vec::new();
        loop {
            match self.next()? {
                b'"' => return String::from_utf8(bytes).ok().map(drop),
                b'%' => {
                    let mut digit = || self.next_if(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
                    let pair = [digit()?, digit()?];
                    let pair = std::str::from_utf8(&pair).ok()?;
                    bytes.push(u8::from_str_radix(pair, 16).ok()?);
                }
                byte @ b' '..=b'~' => bytes.push(byte),
                _ => return None,
            }
        }
    }
}
