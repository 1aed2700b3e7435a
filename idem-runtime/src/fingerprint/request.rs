//! The fingerprint of an HTTP request as it was received.

use std::fmt;

use super::canonical::{self, Nulls};
use super::error::FingerprintError;
use super::media::MediaType;
use super::pointer::Pointer;
use super::{Fingerprint, Preimage};

/// A received request, from which the fingerprint is taken.
///
/// Method, concrete path and query count as given, so that `PUT /tickets/1` never answers for `/tickets/2`.
/// `Debug` shows neither the query nor the body.
///
/// ```
/// use idem_runtime::fingerprint::HttpRequest;
///
/// let request = |body| {
///     HttpRequest::new("POST", "/orders")
///         .query(Some("notify=1"))
///         .content_type(Some("application/json"))
///         .ignore(&["/meta/sent_at"])
///         .body(body)
///         .fingerprint()
/// };
/// let first = request(br#"{"item": 7, "meta": {"sent_at": "10:00"}}"#)?;
/// let again = request(br#"{"meta": {"sent_at": "10:01"}, "item": 7}"#)?;
/// assert_eq!(first, again);
/// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
/// ```
#[derive(Clone, Copy)]
pub struct HttpRequest<'a> {
    method: &'a str,
    path: &'a str,
    query: &'a str,
    content_type: &'a str,
    body: &'a [u8],
    ignore: &'a [&'a str],
    raw: bool,
}

impl<'a> HttpRequest<'a> {
    /// Starts with a request that has neither query nor body.
    ///
    /// `path` is the path as the client sent it, still percent-encoded and before any nesting of routers.
    ///
    /// ```
    /// use idem_runtime::fingerprint::HttpRequest;
    ///
    /// let first = HttpRequest::new("DELETE", "/tickets/1").fingerprint()?;
    /// assert_ne!(first, HttpRequest::new("DELETE", "/tickets/2").fingerprint()?);
    /// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
    /// ```
    #[must_use]
    pub const fn new(method: &'a str, path: &'a str) -> Self {
        Self { method, path, query: "", content_type: "", body: b"", ignore: &[], raw: false }
    }

    /// Sets the query as sent, without its question mark. No query and an empty one are the same.
    ///
    /// ```
    /// use idem_runtime::fingerprint::HttpRequest;
    ///
    /// let plain = HttpRequest::new("POST", "/orders");
    /// assert_eq!(plain.fingerprint()?, plain.query(Some("")).fingerprint()?);
    /// assert_ne!(plain.fingerprint()?, plain.query(Some("dry_run=1")).fingerprint()?);
    /// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
    /// ```
    #[must_use]
    pub fn query(mut self, query: Option<&'a str>) -> Self {
        self.query = query.unwrap_or_default();
        self
    }

    /// Sets the content type as sent; it decides whether the body is read as JSON. None and an empty one are
    /// the same.
    ///
    /// `application/json` and `application/...+json` are JSON, whatever their case and parameters.
    ///
    /// ```
    /// use idem_runtime::fingerprint::HttpRequest;
    ///
    /// let request = HttpRequest::new("POST", "/orders").body(b"{ }");
    /// let json = request.content_type(Some("application/json; charset=utf-8"));
    /// assert_eq!(json.fingerprint()?, json.body(b"{}").fingerprint()?);
    /// let text = request.content_type(Some("text/plain"));
    /// assert_ne!(text.fingerprint()?, text.body(b"{}").fingerprint()?);
    /// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
    /// ```
    #[must_use]
    pub fn content_type(mut self, content_type: Option<&'a str>) -> Self {
        self.content_type = content_type.unwrap_or_default();
        self
    }

    /// Sets the body as received.
    ///
    /// ```
    /// use idem_runtime::fingerprint::HttpRequest;
    ///
    /// let request = HttpRequest::new("POST", "/notes").content_type(Some("text/plain"));
    /// assert_ne!(request.body(b"a").fingerprint()?, request.body(b"b").fingerprint()?);
    /// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
    /// ```
    #[must_use]
    pub const fn body(mut self, body: &'a [u8]) -> Self {
        self.body = body;
        self
    }

    /// Sets the JSON pointers (RFC 6901) to what is left out of a JSON body; other bodies are hashed as a
    /// whole.
    ///
    /// A pointer that matches nothing is fine. Indexes count the elements of an array as they were sent. A
    /// malformed pointer, and the empty one that means the whole body, make [`HttpRequest::fingerprint`]
    /// fail.
    ///
    /// ```
    /// use idem_runtime::fingerprint::HttpRequest;
    ///
    /// let request = HttpRequest::new("POST", "/orders").content_type(Some("application/json"));
    /// let sent = request.body(br#"{"item": 7, "trace": "x1"}"#).ignore(&["/trace"]);
    /// assert_eq!(sent.fingerprint()?, request.body(br#"{"item": 7}"#).fingerprint()?);
    /// assert!(request.ignore(&["trace"]).fingerprint().is_err());
    /// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
    /// ```
    #[must_use]
    pub const fn ignore(mut self, pointers: &'a [&'a str]) -> Self {
        self.ignore = pointers;
        self
    }

    /// Compares the body byte by byte whatever its content type says, for routes that read it as bytes.
    ///
    /// ```
    /// use idem_runtime::fingerprint::HttpRequest;
    ///
    /// let request = HttpRequest::new("POST", "/echo").content_type(Some("application/json")).raw();
    /// assert_ne!(request.body(b"{ }").fingerprint()?, request.body(b"{}").fingerprint()?);
    /// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
    /// ```
    #[must_use]
    pub const fn raw(mut self) -> Self {
        self.raw = true;
        self
    }

    /// Takes the fingerprint.
    ///
    /// Fails when a pointer to ignore is malformed, or when the content type is JSON and the body is neither
    /// empty nor accepted by [`Fingerprint::json`].
    ///
    /// ```
    /// use idem_runtime::fingerprint::HttpRequest;
    ///
    /// let request = HttpRequest::new("POST", "/orders").content_type(Some("application/json"));
    /// assert!(request.body(b"").fingerprint().is_ok());
    /// assert!(request.body(b"{").fingerprint().is_err());
    /// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
    /// ```
    pub fn fingerprint(&self) -> Result<Fingerprint, FingerprintError> {
        // Checked for every body, so that a wrong declaration shows at the first request.
        let ignore = self.ignore.iter().map(|text| Pointer::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let media = MediaType::parse(self.content_type);
        let preimage = Preimage::new()
            .part(b"http")
            .part(self.method.as_bytes())
            .part(self.path.as_bytes())
            .part(self.query.as_bytes());
        if self.raw || !media.is_json() {
            return Ok(preimage.bytes(&media, self.body));
        }
        if self.body.is_empty() {
            return Ok(preimage.bytes(&MediaType::parse(&media.essence), self.body));
        }
        let mut node = canonical::parse(self.body)?;
        for pointer in &ignore {
            pointer.remove(&mut node);
        }
        let nulls = if media.is_merge_patch() { Nulls::Kept } else { Nulls::Dropped };
        Ok(preimage.part(b"json").part(media.essence.as_bytes()).json(&node, nulls))
    }
}

impl fmt::Debug for HttpRequest<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("path", &self.path)
            .field("content_type", &self.content_type)
            .finish_non_exhaustive()
    }
}
