//! Whether `fingerprint(ignore(...))` can have an effect on the body that a handler takes.

use std::marker::PhantomData;

use crate::axum::ReadsBody;

/// Asked for `RAW`: an extractor of bodies answers by its own constant, everything else by a trait.
#[derive(Debug)]
pub struct ReadsBytes<T>(PhantomData<T>);

impl<T: ReadsBody> ReadsBytes<T> {
    /// Whether the body is compared byte by byte.
    pub const RAW: bool = !T::COMPARES_JSON;
}

/// The answer of an argument that reads the head: the body is compared by its content type.
pub trait ReadsSomethingElse {
    /// Never.
    const RAW: bool = false;
}

impl<T> ReadsSomethingElse for ReadsBytes<T> {}

/// An error of the compiler, unless members can be ignored.
///
/// # Panics
///
/// When they cannot.
#[track_caller]
pub const fn compares_members(yes: bool) {
    assert!(
        yes,
        "this body is compared byte by byte, so no member of it can be ignored: take `Json<T>` instead of \
         `String`, `Bytes` or `Form`, or remove `fingerprint(ignore(...))`"
    );
}
