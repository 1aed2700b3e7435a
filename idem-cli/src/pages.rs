//! What the program says about itself: completions for a shell, and the pages of its manual.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::{Answer, Cli, Outcome};

const COMPLETIONS: &str = "\
Examples:
  idem completions bash > ~/.local/share/bash-completion/completions/idem
  idem completions zsh > ~/.zfunc/_idem";

const MAN: &str = "\
Examples:
  idem man > ~/.local/share/man/man1/idem.1
  idem man audit | man -l -
  idem man outbox-list | man -l -";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Page {
    /// Print the completions for a shell.
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print a page of the manual.
    #[command(after_help = MAN)]
    Man {
        /// The command that the page is about [default: the program].
        #[arg(value_parser = commands())]
        command: Option<String>,
    },
}

/// The command with commands of its own, and those.
const OUTBOX: [&str; 7] =
    ["outbox", "outbox-list", "outbox-show", "outbox-stats", "outbox-retry", "outbox-dead", "outbox-purge"];

/// The names of all commands, listed apart: asking the parser for them here would never end.
fn commands() -> clap::builder::PossibleValuesParser {
    let operate: &[&str] = if cfg!(feature = "database") {
        &["diagnose", "expire", "purge", "migrate", "list", "show", "stats", "watch", "release", "doctor"]
    } else {
        &[]
    };
    let outbox: &[&str] = if cfg!(feature = "database") { &OUTBOX } else { &[] };
    ["audit", "completions", "man"].iter().chain(operate).chain(outbox).copied().into()
}

impl Page {
    pub(crate) fn answer(&self) -> Answer {
        let mut text = Vec::new();
        let mut program = Cli::command();
        match self {
            Self::Completions { shell } => clap_complete::generate(*shell, &mut program, "idem", &mut text),
            Self::Man { command } => {
                program.build();
                let page = command.as_deref().and_then(|name| {
                    name.split('-').try_fold(&program, |command, word| command.find_subcommand(word))
                });
                let page = page.unwrap_or(&program).clone();
                // Writing into memory does not fail.
                let _ = clap_mangen::Man::new(page).render(&mut text);
            }
        }
        Answer { text: String::from_utf8_lossy(&text).into_owned(), outcome: Outcome::Clean }
    }
}
