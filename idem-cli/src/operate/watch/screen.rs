//! A terminal that shows one frame at a time and is as before when the last one has gone.

use std::io::{self, Write as _};

use console::Term;

/// The other screen, without a cursor and without wrapping.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_REST: &str = "\x1b[J";

/// The standard output, which must be a terminal; entered with the first frame.
#[derive(Debug, Default)]
pub(super) struct Screen {
    entered: bool,
}

impl Screen {
    /// How many lines fit.
    pub(super) fn height() -> usize {
        usize::from(Term::stdout().size().0)
    }

    /// Puts `frame` in place of the last one, line by line, so that nothing flickers.
    pub(super) fn draw(&mut self, frame: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if !self.entered {
            out.write_all(ENTER.as_bytes())?;
            self.entered = true;
        }
        out.write_all(HOME.as_bytes())?;
        let choice = anstream::AutoStream::choice(&io::stdout());
        for (number, line) in frame.lines().enumerate() {
            if number > 0 {
                out.write_all(b"\r\n")?;
            }
            // Only the text may lose its colours; the codes of the screen must arrive.
            let mut styled = anstream::AutoStream::new(Vec::new(), choice);
            styled.write_all(line.as_bytes())?;
            out.write_all(&styled.into_inner())?;
            out.write_all(CLEAR_LINE.as_bytes())?;
        }
        out.write_all(CLEAR_REST.as_bytes())?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if self.entered {
            let mut out = io::stdout().lock();
            let _ = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush());
        }
    }
}
