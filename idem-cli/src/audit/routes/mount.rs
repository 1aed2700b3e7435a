//! Puts routes on a router, one by one or with all of another.

use proc_macro2::Span;
use syn::Expr;
use syn::spanned::Spanned;

use crate::audit::finding::Site;
use crate::audit::routes::call::shown;
use crate::audit::routes::value::{Endpoint, Handler, Router, Value};
use crate::audit::routes::{EndpointId, Frame, Kind, Mounted, Route, Surveyor};
use crate::audit::stance::Stance;

impl Surveyor<'_, '_> {
    /// Mounts what a method router takes.
    pub(super) fn mount_all(
        &mut self,
        router: &mut Router,
        path: &Result<String, String>,
        endpoints: Vec<EndpointId>,
    ) {
        for id in endpoints {
            self.endpoints[id].1 = Mounted::Yes;
            let Endpoint { method, handler, site, escape, .. } = self.endpoints[id].0.clone();
            if let Some(escape) = escape {
                let path = path.clone().unwrap_or_else(|words| words);
                let (handler, site) = (handler.clone(), site.clone());
                self.add(router, Route { method, path, handler, site, kind: Kind::Escape(escape) });
            }
            self.mount(router, method, path.clone(), handler, site);
        }
    }

    /// Mounts one write; a path that is not known is an `Err` with the words of its expression.
    pub(super) fn mount(
        &mut self,
        router: &mut Router,
        method: &'static str,
        path: Result<String, String>,
        handler: Handler,
        site: Site,
    ) {
        let kind = match (&path, &handler.unresolved) {
            (Err(words), _) => Kind::Unresolved(format!(
                "the source does not say which path {} is",
                words.trim_end_matches("/*")
            )),
            (Ok(_), Some(reason)) => Kind::Unresolved(reason.clone()),
            (Ok(_), None) => Kind::Write,
        };
        let path = path.unwrap_or_else(|words| words);
        self.add(router, Route { method, path, handler, site, kind });
    }

    pub(super) fn service(
        &mut self,
        frame: &mut Frame,
        router: &mut Router,
        path: Result<String, String>,
        service: &Expr,
        given: Value,
        through: &str,
    ) {
        // `get_service(files)` is a service too, one that takes some methods only.
        if let Value::Methods(endpoints) = given {
            return self.mount_all(router, &path, endpoints);
        }
        let handler = self.service_handler(frame, service, given);
        let site = self.site(frame, service.span());
        // On axum's own router there is no check that this could go around.
        if router.is_checked && handler.stance == Stance::Undeclared && !through.ends_with("_unchecked") {
            let path = path.clone().unwrap_or_else(|text| text);
            let kind = Kind::Escape(through.to_owned());
            let (handler, site) = (handler.clone(), site.clone());
            self.add(router, Route { method: "ANY", path, handler, site, kind });
        }
        self.mount(router, "ANY", path, handler, site);
    }

    pub(super) fn escape(&mut self, frame: &Frame, router: &mut Router, name: &str, about: &str, span: Span) {
        let site = self.site(frame, span);
        let path = if about.starts_with('"') { about.trim_matches('"').to_owned() } else { "*".to_owned() };
        let handler =
            Handler { stance: Stance::Undeclared, ..Handler::unseen(name.to_owned(), site.clone()) };
        let kind = Kind::Escape(name.to_owned());
        self.add(router, Route { method: "ANY", path, handler, site, kind });
    }

    /// Something was mounted that may hold writes, and it cannot be seen.
    pub(super) fn unseen(
        &mut self,
        frame: &Frame,
        router: &mut Router,
        path: String,
        expr: &Expr,
        given: &Value,
    ) {
        let reason = match given {
            Value::Foreign(name) => format!("`{name}` is not in the source that was given"),
            _ => "the source does not say which routes it holds".to_owned(),
        };
        let site = self.site(frame, expr.span());
        let handler = Handler::unseen(shown(expr), site.clone());
        self.add(router, Route { method: "ANY", path, handler, site, kind: Kind::Unresolved(reason) });
    }

    /// The routes of `nested` under a prefix; the ones without it are spoken for.
    pub(super) fn nest(&mut self, router: &mut Router, nested: &Router, prefix: &Result<String, String>) {
        for &id in &nested.routes {
            self.routes[id].1 = Mounted::Yes;
            let mut route = self.routes[id].0.clone();
            let before = prefix.as_ref().unwrap_or_else(|words| words);
            route.path = join(before, &route.path);
            if let (Err(words), Kind::Write) = (prefix, &route.kind) {
                route.kind = Kind::Unresolved(format!(
                    "the source does not say which path {} is",
                    words.trim_end_matches("/*")
                ));
            }
            self.add(router, route);
        }
    }

    pub(super) fn add(&mut self, router: &mut Router, route: Route) {
        router.routes.push(self.routes.len());
        self.routes.push((route, Mounted::No));
    }
}

/// A path under a prefix, as axum joins them.
fn join(prefix: &str, path: &str) -> String {
    let prefix = prefix.trim_end_matches('/');
    match path {
        "/" if !prefix.is_empty() => prefix.to_owned(),
        path if path.starts_with('/') => format!("{prefix}{path}"),
        path => format!("{prefix}/{path}"),
    }
}

/// Everything under a path.
pub(super) fn below(path: &str) -> String {
    join(path, "*")
}
