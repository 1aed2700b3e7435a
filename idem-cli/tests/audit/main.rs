//! `idem audit` as its users run it: the program itself, on applications in `tests/fixtures` and on small sources.

mod baseline;
mod common;
mod events;
mod names;
mod output;
mod routers;
mod rules;
mod sources;
