//! Checks of the headers `Host` and `Origin`. A page of the web can make the browser resolve a name of the page's own to
//! this machine (DNS rebinding), so that a request from a loopback address may come from any page.

use std::collections::HashSet;
use std::net::SocketAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};

use url::Url;

use super::reply::Rejection;

/// Header by which a browser says which site a request comes from.
const SITE: &str = "sec-fetch-site";

/// The permitted values of both headers.
pub(super) struct Origins {
    hosts: HashSet<String>,
    origins: HashSet<String>,
    /// Origin of the URL at which clients reach the server, if the configuration has the URL.
    own: Option<String>,
    is_loopback: bool,
}

impl Origins {
    /// Permits these hosts and origins, and on a loopback address also its names.
    pub(super) fn new(listen: SocketAddr, hosts: &[String], origins: &[String], public_url: Option<&Url>) -> Self {
        let lower = |values: &[String]| values.iter().map(|value| value.to_ascii_lowercase()).collect();
        let own = public_url.map(|url| url.origin().ascii_serialization());
        Self { hosts: lower(hosts), origins: lower(origins), own, is_loopback: listen.ip().is_loopback() }
    }

    /// Fails unless the request has one permitted host and no origin that is not permitted.
    pub(super) fn check(&self, target: &Uri, headers: &HeaderMap) -> Result<(), Rejection> {
        self.check_host(target, headers)?;
        let is_permitted = |origin: &HeaderValue| {
            origin.to_str().is_ok_and(|origin| self.origins.contains(&origin.to_ascii_lowercase()))
        };
        if !headers.get_all(header::ORIGIN).iter().all(is_permitted) {
            return Err(forbidden("the header `Origin` is not permitted: `origins` in the configuration"));
        }
        Ok(())
    }

    /// Fails unless the request has one permitted host, and comes from a page of this server if it can change something.
    /// A browser sends its user's password also with a form of another page.
    pub(super) fn check_same(&self, method: &Method, target: &Uri, headers: &HeaderMap) -> Result<(), Rejection> {
        self.check_host(target, headers)?;
        let host =
            headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_ascii_lowercase();
        let is_own = |origin: &HeaderValue| {
            let origin = origin.to_str().unwrap_or_default().to_ascii_lowercase();
            let of_host = origin.strip_prefix("http://").or(origin.strip_prefix("https://"));
            of_host == Some(&host) || self.own.as_ref() == Some(&origin)
        };
        let mut origins = headers.get_all(header::ORIGIN).iter();
        // A browser sends the header `Sec-Fetch-Site` too, unless it is old.
        let is_same_site = headers.get_all(SITE).iter().all(|site| site == "same-origin");
        let is_permitted = match *method {
            Method::GET | Method::HEAD => origins.all(is_own),
            _ => origins.next().is_some_and(is_own) && origins.next().is_none() && is_same_site,
        };
        is_permitted.then_some(()).ok_or_else(|| forbidden("the request has to come from a page of this server"))
    }

    /// Fails unless the request has one permitted host. The target of a request may also have a host.
    fn check_host(&self, target: &Uri, headers: &HeaderMap) -> Result<(), Rejection> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).and_then(|host| host.parse::<Authority>().ok());
        match (host, hosts.next()) {
            (Some(host), None) if self.is_host(&host) && target.authority().is_none_or(|host| self.is_host(host)) => {}
            _ => return Err(forbidden("the header `Host` is missing or not permitted: `hosts` in the configuration")),
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

fn forbidden(message: &str) -> Rejection {
    Rejection::new(StatusCode::FORBIDDEN, "denied", message).because("origin")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_permitted(listen: &str, headers: &[(&'static str, &str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let (hosts, origins) = (["paddock.example".to_owned()], ["https://app.example".to_owned()]);
        Origins::new(listen.parse().unwrap(), &hosts, &origins, None).check(&Uri::default(), &map).is_ok()
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

    #[test]
    fn a_change_comes_from_a_page_of_the_server() {
        let origins = Origins::new(
            "127.0.0.1:80".parse().unwrap(),
            &[],
            &[],
            Some(&"https://Files.example:443/x".parse().unwrap()),
        );
        let is_permitted = |method: Method, headers: &[(&'static str, &str)]| {
            let mut map = HeaderMap::new();
            map.insert("host", "localhost:8710".parse().unwrap());
            for (name, value) in headers {
                map.append(*name, value.parse().unwrap());
            }
            origins.check_same(&method, &Uri::default(), &map).is_ok()
        };
        for origin in ["http://localhost:8710", "https://localhost:8710", "https://files.example"] {
            assert!(is_permitted(Method::POST, &[("origin", origin)]), "{origin}");
            assert!(is_permitted(Method::POST, &[("origin", origin), (SITE, "same-origin")]), "{origin}");
            for site in ["cross-site", "same-site", "none"] {
                assert!(!is_permitted(Method::POST, &[("origin", origin), (SITE, site)]), "{origin}, {site}");
            }
        }
        let others = ["null", "http://localhost", "http://localhost:8711", "http://evil.example", "localhost:8710", ""];
        for origin in others {
            assert!(!is_permitted(Method::POST, &[("origin", origin)]), "{origin}");
            assert!(!is_permitted(Method::GET, &[("origin", origin)]), "{origin}");
        }
        assert!(!is_permitted(Method::POST, &[]) && !is_permitted(Method::DELETE, &[]));
        assert!(!is_permitted(
            Method::POST,
            &[("origin", "http://localhost:8710"), ("origin", "http://localhost:8710")]
        ));
        assert!(is_permitted(Method::GET, &[]) && is_permitted(Method::GET, &[(SITE, "cross-site")]));
        let mut foreign = HeaderMap::new();
        foreign.insert("host", "evil.example".parse().unwrap());
        foreign.insert("origin", "http://evil.example".parse().unwrap());
        assert!(origins.check_same(&Method::POST, &Uri::default(), &foreign).is_err());
    }
}
