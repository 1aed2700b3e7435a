//! What `bind` can read, and where in an answer it looks.

/// A value that can be bound as a task or an outbox event.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be bound",
    note = "`bind` takes a `String`, `&str`, an integer, a `uuid::Uuid` or an `Option` of one of them"
)]
pub trait Bindable {
    /// The text that is bound.
    fn bound(&self) -> Option<String>;
}

macro_rules! bindable {
    ($($ty:ty),*) => {
        $(impl Bindable for $ty {
            fn bound(&self) -> Option<String> {
                Some(self.to_string())
            }
        })*
    };
}

bindable!(String, str, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, uuid::Uuid);

impl<T: Bindable + ?Sized> Bindable for &T {
    fn bound(&self) -> Option<String> {
        (**self).bound()
    }
}

impl<T: Bindable> Bindable for Option<T> {
    fn bound(&self) -> Option<String> {
        self.as_ref().and_then(Bindable::bound)
    }
}

/// An answer that carries a value: `Json<T>`, a tuple that ends with one, a `Result` of one.
#[cfg(feature = "axum")]
#[diagnostic::on_unimplemented(
    message = "`bind` finds no value in `{Self}`",
    note = "return `Json<T>`, a tuple that ends with it, or a `Result` of one of them"
)]
pub trait Carries {
    /// The value.
    type Value;

    /// The value, unless it is a failure.
    fn carried(&self) -> Option<&Self::Value>;
}

#[cfg(feature = "axum")]
impl<T> Carries for axum::Json<T> {
    type Value = T;

    fn carried(&self) -> Option<&T> {
        Some(&self.0)
    }
}

#[cfg(feature = "axum")]
impl<T: Carries, E> Carries for Result<T, E> {
    type Value = T::Value;

    fn carried(&self) -> Option<&T::Value> {
        self.as_ref().ok().and_then(Carries::carried)
    }
}

#[cfg(feature = "axum")]
macro_rules! tuple_carries {
    ($($before:ident)+) => {
        impl<$($before,)+ Last: Carries> Carries for ($($before,)+ Last) {
            type Value = Last::Value;

            fn carried(&self) -> Option<&Last::Value> {
                #[allow(non_snake_case)]
                let ($($before,)+ last) = self;
                $(let _ = $before;)+
                last.carried()
            }
        }
    };
}

#[cfg(feature = "axum")]
tuple_carries!(A);
#[cfg(feature = "axum")]
tuple_carries!(A B);
#[cfg(feature = "axum")]
tuple_carries!(A B C);
#[cfg(feature = "axum")]
tuple_carries!(A B C D);

/// The value that an answer carries.
#[cfg(feature = "axum")]
pub fn carried<T: Carries>(answer: &T) -> Option<&T::Value> {
    answer.carried()
}
