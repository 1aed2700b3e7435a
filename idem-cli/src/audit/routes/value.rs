//! What an expression can stand for, as far as routes depend on it.

use crate::audit::finding::Site;
use crate::audit::program::FunctionId;
use crate::audit::routes::{EndpointId, RouteId};
use crate::audit::stance::Stance;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Unknown,
    /// What a crate gives whose source is not here.
    Foreign(String),
    Text(String),
    Router(Router),
    /// The handlers of one path; reading ones are left out.
    Methods(Vec<EndpointId>),
    Handler(Box<Handler>),
    Function(FunctionId),
    Tuple(Vec<Value>),
}

/// A router, by the routes that it holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Router {
    pub(super) routes: Vec<RouteId>,
    /// Whether it is idem's, on which an undeclared write does not compile.
    pub(super) is_checked: bool,
}

/// One method of a method router.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    pub(super) method: &'static str,
    pub(super) handler: Handler,
    pub(super) site: Site,
    /// Whether the function that made it is certainly axum's or idem's, not just called like one.
    pub(super) is_axum: bool,
    /// The name of the way around the check by which it came in.
    pub(super) escape: Option<String>,
}

/// What answers a request, and what it says about a retry.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::audit) struct Handler {
    /// The full name of a function, or the expression.
    pub(in crate::audit) name: String,
    pub(in crate::audit) stance: Stance,
    /// The functions by which it works: itself, or those that a closure calls.
    pub(in crate::audit) works_by: Vec<FunctionId>,
    /// Where its stance is said, or would be.
    pub(in crate::audit) site: Site,
    /// Why the stance is unresolved.
    pub(in crate::audit) unresolved: Option<String>,
}

impl Handler {
    /// Stands for routes, or a handler, that cannot be seen.
    pub(super) fn unseen(name: String, site: Site) -> Self {
        Self { name, stance: Stance::Unresolved, works_by: Vec::new(), site, unresolved: None }
    }
}

impl Value {
    pub(super) fn router(is_checked: bool) -> Self {
        Self::Router(Router { routes: Vec::new(), is_checked })
    }

    /// Whether a call that gets it can end in other routes than one that does not.
    pub(super) fn matters(&self) -> bool {
        !matches!(self, Self::Unknown | Self::Foreign(_))
    }

    /// Which of two kinds prevails where only one of them can be meant.
    fn weight(&self) -> u8 {
        match self {
            Self::Router(_) | Self::Methods(_) => 2,
            Self::Handler(_) | Self::Function(_) => 1,
            _ => 0,
        }
    }

    /// What may be either: of routers and method routers, all that both hold.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Router(mut one), Self::Router(other)) => {
                let new = other.routes.into_iter().filter(|id| !one.routes.contains(id));
                let new: Vec<RouteId> = new.collect();
                one.routes.extend(new);
                one.is_checked &= other.is_checked;
                Self::Router(one)
            }
            (Self::Methods(mut one), Self::Methods(other)) => {
                let new: Vec<EndpointId> = other.into_iter().filter(|id| !one.contains(id)).collect();
                one.extend(new);
                Self::Methods(one)
            }
            (one, other) if one == other => one,
            (one, other) if one.weight() > other.weight() => one,
            (one, other) if one.weight() < other.weight() => other,
            _ => Self::Unknown,
        }
    }

    /// What one of these is.
    pub(super) fn one_of(values: impl IntoIterator<Item = Self>) -> Self {
        values.into_iter().reduce(Self::or).unwrap_or(Self::Unknown)
    }
}
