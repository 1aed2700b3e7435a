//! Follows the routers of a program as they are built, and lists the writes that they end in.
//!
//! Functions are evaluated, not run: every branch counts, a loop counts once, and whatever the source does not say
//! ends as an unresolved entry. Nothing that mounts a route is passed over.

mod block;
mod call;
mod evaluate;
mod handler;
mod invoke;
pub(super) mod macros;
mod method_router;
mod mount;
mod router;
mod value;

use std::collections::{HashMap, HashSet};

use crate::audit::finding::Site;
use crate::audit::program::{ConstantId, FunctionId, ModuleId, Program, TypeId};
use crate::audit::stance::Exemption;

pub(super) use handler::Calls;
pub(super) use value::Handler;
use value::{Endpoint, Value};

/// What can be written, and through which routes.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) routes: Vec<Route>,
    /// Every `exempt(...)`, also where no route was found for it.
    pub(super) exemptions: Vec<(Exemption, String, Site)>,
}

/// Something mounted on a router.
#[derive(Debug, Clone)]
pub(super) struct Route {
    /// `ANY` for all methods.
    pub(super) method: &'static str,
    /// The full path; `*` for a fallback, `<expression>` where the source does not say.
    pub(super) path: String,
    pub(super) handler: Handler,
    pub(super) site: Site,
    pub(super) kind: Kind,
}

/// What an entry of the survey is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind {
    Write,
    /// A write, or routes that may hold some; what could not be found out.
    Unresolved(String),
    /// A way around the typed routes, by its name; the routes behind it are entries of their own.
    Escape(String),
}

/// Surveys the whole program.
pub(super) fn survey(program: &Program<'_>) -> Survey {
    let mut surveyor = Surveyor {
        program,
        routes: Vec::new(),
        endpoints: Vec::new(),
        exemptions: Vec::new(),
        results: HashMap::new(),
        called: HashSet::new(),
        constants: HashMap::new(),
        builds: HashMap::new(),
        active: Vec::new(),
    };
    surveyor.everything();
    surveyor.finish()
}

type RouteId = usize;
type EndpointId = usize;

struct Surveyor<'p, 'a> {
    program: &'p Program<'a>,
    /// Every route of every router value; nesting makes new ones.
    routes: Vec<(Route, Mounted)>,
    /// Every method of every method router.
    endpoints: Vec<(Endpoint, Mounted)>,
    exemptions: Vec<(Exemption, String, Site)>,
    /// What each function gave for which arguments.
    results: HashMap<(FunctionId, String), Value>,
    constants: HashMap<ConstantId, Value>,
    called: HashSet<FunctionId>,
    /// Whether a function has to do with routers at all.
    builds: HashMap<FunctionId, bool>,
    /// The calls under way, so that recursion ends.
    active: Vec<FunctionId>,
}

/// Whether something went into something larger, which speaks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mounted {
    Yes,
    No,
}

/// Where an expression stands, and what its names hold.
#[derive(Debug)]
struct Frame {
    scope: ModuleId,
    of: Option<TypeId>,
    /// The function's name.
    function: String,
    names: HashMap<String, Value>,
    returned: Vec<Value>,
}

impl Frame {
    fn new(scope: ModuleId, of: Option<TypeId>, function: String) -> Self {
        Self { scope, of, function, names: HashMap::new(), returned: Vec::new() }
    }
}

impl Surveyor<'_, '_> {
    fn everything(&mut self) {
        let functions = &self.program.functions;
        // A function that takes routers is known best from its calls, so it waits for them.
        let (alone, called): (Vec<FunctionId>, Vec<FunctionId>) =
            (0..functions.len()).partition(|&id| functions[id].signature.inputs.is_empty());
        for id in 0..self.program.constants.len() {
            self.constant(id);
        }
        for id in alone.into_iter().chain(called) {
            if !self.called.contains(&id) {
                self.invoke(id, None, Vec::new());
            }
        }
    }

    fn finish(self) -> Survey {
        let mut survey = Survey { exemptions: self.exemptions, ..Survey::default() };
        for unseen in &self.program.unseen {
            survey.routes.push(Route {
                method: "ANY",
                path: "*".to_owned(),
                handler: Handler::unseen(unseen.what.clone(), unseen.site.clone()),
                site: unseen.site.clone(),
                kind: Kind::Unresolved(unseen.reason.clone()),
            });
        }
        let mounted: HashSet<Site> = self
            .endpoints
            .iter()
            .filter(|(_, mounted)| *mounted == Mounted::Yes)
            .map(|(endpoint, _)| endpoint.site.clone())
            .collect();
        for (endpoint, _) in self.endpoints {
            if !mounted.contains(&endpoint.site) && endpoint.is_axum {
                let reason = "no route that takes it was found".to_owned();
                let Endpoint { method, handler, site, .. } = endpoint;
                let path = "*".to_owned();
                survey.routes.push(Route { method, path, handler, site, kind: Kind::Unresolved(reason) });
            }
        }
        let open = self.routes.into_iter().filter(|(_, mounted)| *mounted == Mounted::No);
        survey.routes.extend(open.map(|(route, _)| route));
        let mut seen = HashSet::new();
        survey.routes.retain(|route| {
            seen.insert((route.site.clone(), route.method, route.path.clone(), route.kind.clone()))
        });
        survey.routes.sort_by(|a, b| a.site.cmp(&b.site).then_with(|| a.path.cmp(&b.path)));
        let mut seen = HashSet::new();
        survey.exemptions.retain(|(_, _, site)| seen.insert(site.clone()));
        survey
    }
}
