//! Checks of the headers `Host`, `Origin` and `Authorization`. A page of the web can make the browser resolve a name of the
//! page's own to this machine (DNS rebinding), so that a request from a loopback address may come from any page.

use super::config::Config;
use super::head::Head;
use super::reply::Rejection;

/// Names of the loopback interface, which are always permitted hosts. No page of another machine can have them as its
/// origin's host.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Fails unless the request has one permitted host, no origin that is not permitted, and the token. Without a token in the
/// configuration, requests are refused unless it permits anonymous ones: an engine does not tell a component on which
/// address it listens, and some listen on all by default.
pub(super) fn check(config: &Config, head: &Head<'_>) -> Result<(), Rejection> {
    check_host(config, head)?;
    let is_permitted = |origin: &[u8]| {
        std::str::from_utf8(origin).is_ok_and(|origin| config.origins.contains(&origin.trim().to_ascii_lowercase()))
    };
    if !head.values("origin").all(is_permitted) {
        return Err(Rejection::forbidden("the header `Origin` is not permitted: PADDOCK_ORIGINS lists those that are"));
    }
    match &config.token {
        Some(token) => check_token(token, head),
        None if config.is_anonymous => Ok(()),
        None => Err(Rejection::forbidden(
            "the server has no token: PADDOCK_TOKEN sets it, and PADDOCK_ANONYMOUS=1 permits requests without one",
        )),
    }
}

fn check_host(config: &Config, head: &Head<'_>) -> Result<(), Rejection> {
    if config.hosts.iter().any(|host| host == "*") {
        return Ok(());
    }
    let hosts = head.values("host").map(|host| std::str::from_utf8(host).unwrap_or_default());
    // Engines pass the host as the authority, as the header, or both.
    let mut hosts = hosts.chain(head.authority).peekable();
    match hosts.peek().is_some() && hosts.all(|host| is_permitted(config, host)) {
        true => Ok(()),
        false => Err(Rejection::forbidden(
            "the header `Host` is missing or not permitted: PADDOCK_HOSTS lists those that are",
        )),
    }
}

fn is_permitted(config: &Config, host: &str) -> bool {
    let host = host.trim().to_ascii_lowercase();
    let name = name_of(&host);
    !name.is_empty() && (LOOPBACK.contains(&name) || config.hosts.iter().any(|other| *other == name || *other == host))
}

/// Returns a host without its port, or an empty text if it is no host.
fn name_of(host: &str) -> &str {
    let port_at = host.rfind(':').filter(|at| !host.ends_with(']') && host.get(..*at).is_some_and(is_closed));
    let (name, port) = port_at.and_then(|at| host.split_at_checked(at)).unwrap_or((host, ":0"));
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte);
    let is_port = port.len() > 1 && port.bytes().skip(1).all(|byte| byte.is_ascii_digit());
    if is_port && name.bytes().all(is_name) { name } else { "" }
}

/// Returns whether each bracket of an IPv6 address is closed.
fn is_closed(name: &str) -> bool {
    name.starts_with('[') == name.ends_with(']')
}

fn check_token(token: &str, head: &Head<'_>) -> Result<(), Rejection> {
    let unauthorized = |message: &str| Rejection::new(401, "denied", message).with("www-authenticate", "Bearer");
    let value = head.value("authorization")?.unwrap_or_default();
    match value.split_once(' ') {
        Some((scheme, given)) if scheme.eq_ignore_ascii_case("bearer") && is_same(given.trim(), token) => Ok(()),
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("bearer") => Err(unauthorized("the token is not valid")),
        _ => Err(unauthorized("the header `Authorization` has to be `Bearer TOKEN`")),
    }
}

/// Compares two tokens, in a time that depends only on their lengths.
fn is_same(given: &str, token: &str) -> bool {
    let differences = given.bytes().zip(token.bytes()).fold(0, |differences, (one, other)| differences | (one ^ other));
    std::hint::black_box(differences) == 0 && given.len() == token.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_admitted(config: &Config, authority: Option<&str>, headers: &[(&str, &str)]) -> bool {
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
        check(config, &Head { authority, headers: &headers, ..Head::default() }).is_ok()
    }

    #[test]
    fn only_permitted_hosts_pass() {
        let config = Config {
            hosts: vec!["paddock.example".into(), "other:81".into()],
            is_anonymous: true,
            ..Config::default()
        };
        for host in
            ["localhost", "LOCALHOST:80", "127.0.0.1:1234", "[::1]:80", "[::1]", "Paddock.Example:443", "other:81"]
        {
            assert!(is_admitted(&config, None, &[("Host", host)]) && is_admitted(&config, Some(host), &[]), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "localhost@evil.example",
            "evil@localhost",
            "localhost:80:81",
            "localhost:",
            "localhost:x",
            "::1",
            "[::1",
            "",
            "a b",
            "127.0.0.2",
            "other",
            "other:82",
        ] {
            assert!(!is_admitted(&config, None, &[("host", host)]) && !is_admitted(&config, Some(host), &[]), "{host}");
        }
        assert!(!is_admitted(&config, None, &[]));
        assert!(!is_admitted(&config, Some("localhost"), &[("host", "evil.example")]));
        assert!(!is_admitted(&config, None, &[("host", "localhost"), ("host", "evil.example")]));
        let any = Config { hosts: vec!["*".into()], ..config };
        assert!(is_admitted(&any, None, &[("host", "evil.example")]));
        assert!(!is_admitted(&any, None, &[("host", "a"), ("origin", "http://a")]));
    }

    #[test]
    fn only_permitted_origins_pass() {
        let config = Config { origins: vec!["https://app.example".into()], is_anonymous: true, ..Config::default() };
        let is_admitted = |origin: &str| is_admitted(&config, Some("localhost"), &[("Origin", origin)]);
        assert!(is_admitted("https://app.example") && is_admitted("HTTPS://App.example"));
        for origin in
            ["null", "", "https://evil.example", "http://app.example", "https://app.example.evil", "http://localhost"]
        {
            assert!(!is_admitted(origin), "{origin}");
        }
    }

    #[test]
    fn the_token_has_to_be_the_whole_one() {
        let config = Config { token: Some("0123456789abcdef".into()), ..Config::default() };
        let is_admitted = |values: &[&str]| {
            let headers: Vec<_> = values.iter().map(|value| ("authorization", *value)).collect();
            is_admitted(&config, Some("localhost"), &headers)
        };
        assert!(is_admitted(&["Bearer 0123456789abcdef"]) && is_admitted(&["bearer  0123456789abcdef"]));
        for value in
            ["", "Bearer", "Bearer ", "Bearer 0123456789abcde", "Bearer 0123456789abcdef0", "Basic 0123456789abcdef"]
        {
            assert!(!is_admitted(&[value]), "{value}");
        }
        assert!(!is_admitted(&[]) && !is_admitted(&["Bearer 0123456789abcdef", "Bearer 0123456789abcdef"]));
    }

    #[test]
    fn a_server_without_a_token_refuses_every_request() {
        let config = Config::default();
        assert!(!is_admitted(&config, Some("localhost"), &[]));
        assert!(!is_admitted(&config, Some("localhost"), &[("authorization", "Bearer ")]));
    }
}
