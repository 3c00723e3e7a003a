//! Checks of the headers `Host` and `Origin`. A page of the web can make the browser resolve a name of the page's own to
//! this machine (DNS rebinding), so that a request from a loopback address may come from any page.

use std::collections::HashSet;
use std::net::SocketAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, Uri, header};

use super::reply::Rejection;

/// The permitted values of both headers.
pub(super) struct Origins {
    hosts: HashSet<String>,
    origins: HashSet<String>,
    is_loopback: bool,
}

impl Origins {
    /// Permits these hosts and origins, and on a loopback address also its names.
    pub(super) fn new(listen: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        let lower = |values: &[String]| values.iter().map(|value| value.to_ascii_lowercase()).collect();
        Self { hosts: lower(hosts), origins: lower(origins), is_loopback: listen.ip().is_loopback() }
    }

    /// Fails unless the request has one permitted host and no origin that is not permitted. The target of a request may
    /// also have a host.
    pub(super) fn check(&self, target: &Uri, headers: &HeaderMap) -> Result<(), Rejection> {
        let forbidden = |message: &str| Rejection::new(StatusCode::FORBIDDEN, "denied", message);
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).and_then(|host| host.parse::<Authority>().ok());
        match (host, hosts.next()) {
            (Some(host), None) if self.is_host(&host) && target.authority().is_none_or(|host| self.is_host(host)) => {}
            _ => return Err(forbidden("the header `Host` is missing or not permitted: `hosts` in the configuration")),
        }
        let is_permitted = |origin: &axum::http::HeaderValue| {
            origin.to_str().is_ok_and(|origin| self.origins.contains(&origin.to_ascii_lowercase()))
        };
        if !headers.get_all(header::ORIGIN).iter().all(is_permitted) {
            return Err(forbidden("the header `Origin` is not permitted: `origins` in the configuration"));
        }
        Ok(())
    }

    fn is_host(&self, host: &Authority) -> bool {
        let name = host.host().to_ascii_lowercase();
        let is_own = self.is_loopback && matches!(name.as_str(), "localhost" | "127.0.0.1" | "[::1]");
        let has_no_user = !host.as_str().contains('@');
        has_no_user
            && (is_own || self.hosts.contains(&name) || self.hosts.contains(&host.as_str().to_ascii_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_permitted(listen: &str, headers: &[(&'static str, &str)]) -> bool {
        let mut map = HeaderMap::new();
        headers.iter().for_each(|(name, value)| drop(map.append(*name, value.parse().unwrap())));
        let (hosts, origins) = (["paddock.example".to_owned()], ["https://app.example".to_owned()]);
        Origins::new(listen.parse().unwrap(), &hosts, &origins).check(&Uri::default(), &map).is_ok()
    }

    #[test]
    fn only_permitted_hosts_and_origins_pass() {
        let (local, public) = ("127.0.0.1:80", "10.0.0.1:80");
        for host in ["localhost", "LOCALHOST:80", "127.0.0.1:1234", "[::1]:80"] {
            assert!(is_permitted(local, &[("host", host)]), "{host}");
            assert!(!is_permitted(public, &[("host", host)]), "{host}");
        }
        for host in ["paddock.example", "Paddock.Example:443"] {
            assert!(is_permitted(public, &[("host", host)]), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "localhost@evil.example",
            "evil@localhost",
            "",
            "a b",
            "127.0.0.2",
        ] {
            assert!(!is_permitted(local, &[("host", host)]), "{host}");
        }
        assert!(!is_permitted(local, &[]));
        assert!(!is_permitted(local, &[("host", "localhost"), ("host", "localhost")]));
        assert!(is_permitted(local, &[("host", "localhost"), ("origin", "https://app.example")]));
        for origin in
            ["null", "https://evil.example", "http://app.example", "https://app.example.evil", "http://localhost"]
        {
            assert!(!is_permitted(local, &[("host", "localhost"), ("origin", origin)]), "{origin}");
        }
    }
}
