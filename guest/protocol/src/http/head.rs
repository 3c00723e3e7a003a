//! The head of a request.

use percent_encoding::percent_decode_str;

use super::reply::Rejection;

/// Maximum number of headers of a request.
const MAX_HEADERS: usize = 128;
/// Maximum length in bytes of the target of a request.
const MAX_TARGET_BYTES: usize = 8 << 10;

/// The head of a request.
#[derive(Clone, Debug, Default)]
pub struct Head<'h> {
    /// Method, such as `POST`.
    pub method: &'h str,
    /// Path and query.
    pub target: &'h str,
    /// Host and port that the request names, if the engine removes the header `Host`.
    pub authority: Option<&'h str>,
    /// Headers, with names in any letter case.
    pub headers: &'h [(String, Vec<u8>)],
}

impl<'h> Head<'h> {
    /// Returns the values of a header, in their order.
    pub(super) fn values(&self, name: &'h str) -> impl Iterator<Item = &'h [u8]> {
        let is_it = move |(other, _): &&(String, Vec<u8>)| other.eq_ignore_ascii_case(name);
        self.headers.iter().filter(is_it).map(|(_, value)| value.as_slice())
    }

    /// Returns the value of a header that a request has at most once.
    pub(super) fn value(&self, name: &'h str) -> Result<Option<&'h str>, Rejection> {
        let mut values = self.values(name);
        let Some(value) = values.next() else { return Ok(None) };
        match (std::str::from_utf8(value), values.next()) {
            (Ok(value), None) => Ok(Some(value.trim())),
            (Ok(_), Some(_)) => Err(Rejection::bad_request(format!("the header `{name}` occurs twice"))),
            (Err(_), _) => Err(Rejection::bad_request(format!("the header `{name}` is not text"))),
        }
    }

    /// Fails if the head is larger than the server handles.
    pub(super) fn check_size(&self) -> Result<(), Rejection> {
        if self.headers.len() > MAX_HEADERS {
            return Err(Rejection::new(431, "too-large", format!("a request may have at most {MAX_HEADERS} headers")));
        }
        if self.target.len() > MAX_TARGET_BYTES {
            let message = format!("a path and its query may have at most {MAX_TARGET_BYTES} bytes");
            return Err(Rejection::new(414, "too-large", message));
        }
        Ok(())
    }

    pub(super) fn path_and_query(&self) -> (&'h str, &'h str) {
        self.target.split_once('?').unwrap_or((self.target, ""))
    }

    pub(super) fn require_method(&self, method: &'static str) -> Result<(), Rejection> {
        match self.method {
            it if it.eq_ignore_ascii_case(method) => Ok(()),
            _ => {
                let rejection = Rejection::new(405, "invalid-argument", format!("the resource has only `{method}`"));
                Err(rejection.with("allow", method))
            }
        }
    }

    /// Fails if the body is not JSON. A page of the web can send other types without asking the server first.
    pub(super) fn require_json(&self) -> Result<(), Rejection> {
        let content_type = self.value("content-type")?.unwrap_or_default();
        match essence(content_type).eq_ignore_ascii_case("application/json") {
            true => Ok(()),
            false => Err(Rejection::new(415, "invalid-argument", "the body has to be `application/json`")),
        }
    }

    /// Fails if the client does not accept JSON.
    pub(super) fn require_accepts_json(&self) -> Result<(), Rejection> {
        let mut ranges = self.values("accept").filter_map(|value| std::str::from_utf8(value).ok()).peekable();
        let accepts = |value: &str| value.split(',').any(|range| is_json_range(essence(range)));
        match ranges.peek().is_none() || ranges.any(accepts) {
            true => Ok(()),
            false => Err(Rejection::new(406, "invalid-argument", "the answers are `application/json`")),
        }
    }

    /// Returns the announced length of the body in bytes, or 0.
    pub(super) fn content_length(&self) -> Result<usize, Rejection> {
        let Some(length) = self.value("content-length")? else { return Ok(0) };
        length.parse().map_err(|_| Rejection::bad_request("the header `content-length` is not a number"))
    }
}

fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

fn is_json_range(range: &str) -> bool {
    ["application/json", "application/*", "*/*"].iter().any(|json| range.eq_ignore_ascii_case(json))
}

/// The query of a request.
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Parses a query, in which only these names may occur, each at most once.
    pub(super) fn parse(query: &str, names: &[&str]) -> Result<Self, Rejection> {
        let mut members: Vec<(String, String)> = Vec::new();
        for member in query.split('&').filter(|member| !member.is_empty()) {
            let (name, value) = member.split_once('=').unwrap_or((member, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            if !names.contains(&name.as_str()) {
                return Err(Rejection::bad_request(format!("the query has an unknown name `{name}`")));
            }
            if members.iter().any(|(other, _)| *other == name) {
                return Err(Rejection::bad_request(format!("the query has the name `{name}` twice")));
            }
            members.push((name, value));
        }
        Ok(Self(members))
    }

    /// Removes and returns a value.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(other, _)| other == name)?;
        Some(self.0.swap_remove(at).1)
    }
}

fn decoded(text: &str) -> Result<String, Rejection> {
    let text = text.replace('+', " ");
    let decoded = percent_decode_str(&text).decode_utf8();
    decoded.map(|text| text.into_owned()).map_err(|_| Rejection::bad_request("the query is not UTF-8"))
}
