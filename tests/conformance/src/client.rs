//! An HTTP/1.1 client that sends exactly the bytes that a case asks for, also those that no library sends.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::answer::Answer;
use crate::message::Message;

/// No case takes longer; a server that hangs fails it.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where requests go.
#[derive(Debug, Clone)]
pub struct Server {
    authority: String,
    prefix: String,
}

impl Server {
    /// From a URL such as `http://127.0.0.1:8080/api`.
    ///
    /// # Errors
    ///
    /// When it is not `http:`.
    pub fn new(url: &str) -> Result<Self, String> {
        let rest =
            url.strip_prefix("http://").ok_or_else(|| format!("`{url}` does not begin with http://"))?;
        let (authority, prefix) = rest.trim_end_matches('/').split_once('/').unwrap_or((rest, ""));
        let authority = authority.trim_end_matches('/');
        let authority =
            if authority.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
        let prefix = if prefix.is_empty() { String::new() } else { format!("/{prefix}") };
        Ok(Self { authority, prefix })
    }

    /// A connection of its own for one request.
    pub(crate) async fn connect(&self) -> Result<TcpStream, String> {
        let stream = TcpStream::connect(&self.authority).await;
        let stream = stream.map_err(|error| format!("cannot connect to {}: {error}", self.authority))?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        Ok(stream)
    }

    /// Sends on a new connection and reads the answer.
    pub(crate) async fn send(&self, message: &Message) -> Result<Answer, String> {
        let stream = self.connect().await?;
        self.send_on(stream, message).await
    }

    /// Sends on this connection and reads the answer.
    pub(crate) async fn send_on(&self, stream: TcpStream, message: &Message) -> Result<Answer, String> {
        let began = Instant::now();
        let (mut reading, mut writing) = stream.into_split();
        let head_only = message.method == "HEAD";
        // A server may refuse a long body before it has read all of it, and then stops reading.
        let reading = timeout(PATIENCE, read(&mut reading, head_only));
        let (written, read) = tokio::join!(self.write(&mut writing, message), reading);
        let (status, headers, body) = match read {
            Err(_) => return Err(format!("no answer within {} s", PATIENCE.as_secs())),
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => {
                let unsent = written.err().map(|error| format!(", after `{error}` in sending"));
                return Err(format!("no whole answer: {error}{}", unsent.unwrap_or_default()));
            }
        };
        Ok(Answer { status, headers, body, elapsed: began.elapsed() })
    }

    /// Sends, and closes the connection after a while without looking at the answer.
    pub(crate) async fn abort(&self, message: &Message, after: Duration) -> Result<(), String> {
        let mut stream = self.connect().await?;
        self.write(&mut stream, message).await?;
        tokio::time::sleep(after).await;
        Ok(())
    }

    async fn write(
        &self,
        stream: &mut (impl AsyncWriteExt + Unpin),
        message: &Message,
    ) -> Result<(), String> {
        let Message { body, framing, .. } = message;
        let body = body.as_deref().unwrap_or_default();
        let (sent, whole) = match framing.cut_after {
            Some(cut) => (&body[..body.len().min(cut)], false),
            None => (body, true),
        };
        let mut next = self.head_of(message)?;
        let failed = |error: std::io::Error| format!("cannot send: {error}");
        for piece in sent.chunks(framing.pieces.unwrap_or(sent.len()).max(1)) {
            if framing.pause_ms > 0 {
                stream.write_all(&std::mem::take(&mut next)).await.map_err(failed)?;
                tokio::time::sleep(Duration::from_millis(framing.pause_ms)).await;
            }
            if framing.chunked {
                next.extend(format!("{:x}\r\n", piece.len()).bytes());
            }
            next.extend(piece);
            if framing.chunked {
                next.extend(b"\r\n");
            }
        }
        if framing.chunked && whole {
            next.extend(b"0\r\n\r\n");
        }
        stream.write_all(&next).await.map_err(failed)?;
        if whole {
            return Ok(());
        }
        stream.shutdown().await.map_err(failed)
    }

    fn head_of(&self, message: &Message) -> Result<Vec<u8>, String> {
        let Message { method, path, headers, body, framing } = message;
        let mut head = format!("{method} {}{path} HTTP/1.1\r\nHost: {}\r\n", self.prefix, self.authority);
        for (name, value) in headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        if framing.chunked {
            head.push_str("Transfer-Encoding: chunked\r\n");
        } else if let Some(body) = body {
            head.extend(["Content-Length: ", &body.len().to_string(), "\r\n"]);
        }
        head.push_str("Connection: close\r\n\r\n");
        // One byte for each letter.
        let bytes: Result<Vec<u8>, _> = head.chars().map(u8::try_from).collect();
        bytes.map_err(|_| "the head of the request is not Latin-1".to_owned())
    }
}

type Parts = (u16, Vec<(String, Vec<u8>)>, Vec<u8>);

/// Reads until the answer is whole, by its length, its chunks or the end of the connection.
async fn read(stream: &mut (impl AsyncReadExt + Unpin), head_only: bool) -> Result<Parts, String> {
    let mut bytes = Vec::new();
    loop {
        let ended = match stream.read_buf(&mut bytes).await {
            Ok(count) => count == 0,
            Err(error) => return whole(&bytes, true, head_only)?.ok_or_else(|| error.to_string()),
        };
        if let Some(answer) = whole(&bytes, ended, head_only)? {
            return Ok(answer);
        }
        if ended {
            return Err(format!("the connection ended after {} bytes", bytes.len()));
        }
    }
}

/// The answer, if all of it is there.
fn whole(bytes: &[u8], ended: bool, head_only: bool) -> Result<Option<Parts>, String> {
    let mut lines = [httparse::EMPTY_HEADER; 128];
    let mut response = httparse::Response::new(&mut lines);
    let httparse::Status::Complete(head) =
        response.parse(bytes).map_err(|error| format!("the answer is not HTTP: {error}"))?
    else {
        return Ok(None);
    };
    let (rest, status) = (&bytes[head..], response.code.unwrap_or_default());
    if (100..200).contains(&status) {
        return whole(rest, ended, head_only);
    }
    let lines = response.headers.iter();
    let headers: Vec<_> = lines.map(|line| (line.name.to_lowercase(), line.value.to_vec())).collect();
    let of = |name: &str| headers.iter().find(|(line, _)| line == name).map(|(_, value)| value.as_slice());
    let body = if head_only || matches!(status, 204 | 304) {
        Some(rest.to_vec())
    } else if of("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case(b"chunked")) {
        chunks(rest)?
    } else if let Some(length) = of("content-length") {
        let length = std::str::from_utf8(length).ok().and_then(|length| length.parse::<usize>().ok());
        let length = length.ok_or("the Content-Length of the answer is no number")?;
        rest.get(..length).map(<[u8]>::to_vec)
    } else {
        ended.then(|| rest.to_vec())
    };
    Ok(body.map(|body| (status, headers, body)))
}

/// The body in chunks, if the last one is there.
fn chunks(mut rest: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let mut body = Vec::new();
    loop {
        let (start, size) = match httparse::parse_chunk_size(rest) {
            Ok(httparse::Status::Complete(chunk)) => chunk,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err("a chunk of the answer has no size".to_owned()),
        };
        let size = usize::try_from(size).map_err(|error| error.to_string())?;
        if size == 0 {
            return Ok(Some(body));
        }
        let Some(chunk) = rest.get(start..start + size) else { return Ok(None) };
        body.extend_from_slice(chunk);
        let Some(after) = rest.get(start + size + 2..) else { return Ok(None) };
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_by_its_length_its_chunks_or_its_end() {
        let body = |bytes: &[u8], ended| whole(bytes, ended, false).unwrap().map(|(_, _, body)| body);
        assert_eq!(body(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", false).unwrap(), b"ab");
        assert_eq!(body(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", true), None);
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n";
        assert_eq!(body(chunked, false).unwrap(), b"abc");
        assert_eq!(body(&chunked[..chunked.len() - 8], true), None);
        assert_eq!(body(b"HTTP/1.1 200 OK\r\n\r\nab", false), None);
        assert_eq!(body(b"HTTP/1.1 200 OK\r\n\r\nab", true).unwrap(), b"ab");
        assert_eq!(
            body(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", false).unwrap(),
            b""
        );
    }

    #[test]
    fn a_url_names_host_port_and_prefix() {
        let parts = |url: &str| Server::new(url).map(|server| (server.authority, server.prefix));
        assert_eq!(parts("http://a").unwrap(), ("a:80".to_owned(), String::new()));
        assert_eq!(parts("http://a:1/").unwrap(), ("a:1".to_owned(), String::new()));
        assert_eq!(parts("http://a:1/b/c/").unwrap(), ("a:1".to_owned(), "/b/c".to_owned()));
        assert!(parts("https://a").is_err());
    }
}
