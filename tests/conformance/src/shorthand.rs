//! The short form of `cases.json`, spelled out: what most requests share stands once at the top of the file.
//!
//! - `{"defaults": {headers, body}, "cases": [...]}` instead of a list: each request gets what it does not say
//!   itself; `null` leaves a header out. A GET has no body, and no `Content-Type` goes without one.
//! - `"request": "POST /orders"`, or `{"to": "POST /orders", ...}`: method and path.
//! - `"replayed": true | false`: the marker of a replay is there or not.
//! - `"problem": CODE`: a problem document with this code.

use serde_json::{Map, Value, json};

/// The cases as a list in the full vocabulary.
pub(crate) fn spell_out(file: Value) -> Value {
    let Value::Object(mut file) = file else { return file };
    let defaults = file.remove("defaults").unwrap_or_default();
    let mut cases = file.remove("cases").unwrap_or_default();
    let steps = cases.as_array_mut().into_iter().flatten().filter_map(|case| case.get_mut("steps"));
    for step in steps.filter_map(Value::as_array_mut).flatten() {
        if let Some(request) = step.get_mut("request") {
            spell_out_request(request, &defaults);
        }
        if let Some(request) = step.get_mut("control").and_then(|control| control.get_mut("release")) {
            spell_out_request(request, &defaults);
        }
        if let Some(expect) = step.get_mut("expect") {
            spell_out_expect(expect);
        }
    }
    cases
}

fn spell_out_request(request: &mut Value, defaults: &Value) {
    if request.is_string() {
        *request = json!({ "to": request.take() });
    }
    let Some(request) = request.as_object_mut() else { return };
    if let Some(Value::String(to)) = request.remove("to")
        && let Some((method, path)) = to.split_once(' ')
    {
        request.insert("method".to_owned(), method.into());
        request.insert("path".to_owned(), path.into());
    }
    if !request.contains_key("body")
        && request.get("method").is_some_and(|method| method != "GET" && method != "HEAD")
    {
        request.insert("body".to_owned(), defaults["body"].clone());
    }
    let has_body = request.get("body").is_some_and(|body| !body.is_null());
    let mut headers = match &defaults["headers"] {
        Value::Object(headers) => headers.clone(),
        _ => Map::new(),
    };
    if !has_body {
        headers.remove("Content-Type");
    }
    if let Some(Value::Object(own)) = request.remove("headers") {
        headers.extend(own);
    }
    headers.retain(|_, value| !value.is_null());
    request.insert("headers".to_owned(), Value::Object(headers));
}

fn spell_out_expect(expect: &mut Value) {
    let Some(expect) = expect.as_object_mut() else { return };
    let replayed = expect.remove("replayed");
    let problem = expect.remove("problem");
    let mut header = |name: &str, value: Value| {
        let headers = expect.entry("headers").or_insert_with(|| json!({}));
        headers[name] = value;
    };
    if let Some(replayed) = replayed {
        header("idempotent-replayed", if replayed == true { "true".into() } else { Value::Null });
    }
    if let Some(problem) = problem {
        header("content-type", "/^application\\/problem\\+json/".into());
        expect.insert("code".to_owned(), problem);
    }
    for alternative in expect.get_mut("any_of").and_then(Value::as_array_mut).into_iter().flatten() {
        spell_out_expect(alternative);
    }
    for outcome in expect.get_mut("outcomes").and_then(Value::as_array_mut).into_iter().flatten() {
        spell_out_expect(&mut outcome["expect"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_form_means_the_long_one() {
        let short = json!({
            "defaults": { "headers": { "K": "k", "Content-Type": "t" }, "body": "b" },
            "cases": [{ "steps": [
                { "request": "POST /a", "expect": { "replayed": false, "problem": "X", "status": 400 } },
                { "request": { "to": "GET /a", "headers": { "K": null, "M": "m" } } },
                { "request": { "to": "PUT /a", "body": null }, "expect": { "any_of": [{ "replayed": true }] } },
            ] }],
        });
        let headers =
            json!({ "idempotent-replayed": null, "content-type": "/^application\\/problem\\+json/" });
        let long = json!([{ "steps": [
            {
                "request":
                    { "method": "POST", "path": "/a", "headers": { "K": "k", "Content-Type": "t" }, "body": "b" },
                "expect": { "status": 400, "headers": headers, "code": "X" },
            },
            { "request": { "method": "GET", "path": "/a", "headers": { "M": "m" } } },
            {
                "request": { "method": "PUT", "path": "/a", "headers": { "K": "k" }, "body": null },
                "expect": { "any_of": [{ "headers": { "idempotent-replayed": "true" } }] },
            },
        ] }]);
        assert_eq!(spell_out(short), long);
        assert_eq!(spell_out(long.clone()), long, "the long form stays");
    }
}
