//! Configuration of the server, from environment variables.

use crate::tools::DIALECT;

/// Configuration of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Permitted values of the header `Host`, in lower case, with or without a port, besides the names of the loopback
    /// interface. With `*`, every value is permitted.
    pub hosts: Vec<String>,
    /// Permitted values of the header `Origin`, in lower case. A request without this header is permitted.
    pub origins: Vec<String>,
    /// Token that each request has to have in the header `Authorization`. If it is `None`, no token is needed.
    pub token: Option<String>,
    /// Dialect of requests that name none.
    pub dialect: String,
}

/// Minimum length of a token in bytes.
const MIN_TOKEN_BYTES: usize = 16;

impl Config {
    /// Reads the configuration. `variable` returns the value of an environment variable.
    ///
    /// | variable | value | default |
    /// | --- | --- | --- |
    /// | `PADDOCK_HOSTS` | list of hosts, separated by commas; `*` permits all | names of the loopback interface |
    /// | `PADDOCK_ORIGINS` | list of origins, separated by commas | none |
    /// | `PADDOCK_TOKEN` | bearer token of at least 16 bytes | none is needed |
    /// | `PADDOCK_DIALECT` | dialect, or a list such as `anthropic,paddock:grep,glob` | `paddock` |
    ///
    /// # Errors
    ///
    /// The reason why a value is refused. It does not contain the token.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let list = |name: &str| {
            let value = variable(name).unwrap_or_default().to_ascii_lowercase();
            value.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        };
        let (hosts, origins) = (list("PADDOCK_HOSTS"), list("PADDOCK_ORIGINS"));
        if let Some(origin) = origins.iter().find(|origin| !is_origin(origin)) {
            return Err(format!("PADDOCK_ORIGINS: `{origin}` is no origin such as `https://app.example`"));
        }
        let token = variable("PADDOCK_TOKEN");
        if token.as_ref().is_some_and(|token| token.len() < MIN_TOKEN_BYTES || !is_token(token)) {
            return Err(format!(
                "PADDOCK_TOKEN: a token has at least {MIN_TOKEN_BYTES} printable characters of ASCII and no spaces"
            ));
        }
        let dialect = variable("PADDOCK_DIALECT").filter(|dialect| !dialect.is_empty());
        Ok(Self { hosts, origins, token, dialect: dialect.unwrap_or_else(|| DIALECT.to_owned()) })
    }
}

fn is_origin(origin: &str) -> bool {
    origin.split_once("://").is_some_and(|(scheme, host)| !scheme.is_empty() && !host.is_empty() && !host.contains('/'))
}

fn is_token(token: &str) -> bool {
    token.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Config, String> {
        let find =
            |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned());
        Config::read(find)
    }

    #[test]
    fn variables_are_lists() {
        let config = read(&[
            ("PADDOCK_HOSTS", " Paddock.example, ,b:80"),
            ("PADDOCK_ORIGINS", "https://App.example"),
            ("PADDOCK_TOKEN", "0123456789abcdef"),
        ]);
        let expected = Config {
            hosts: vec!["paddock.example".to_owned(), "b:80".to_owned()],
            origins: vec!["https://app.example".to_owned()],
            token: Some("0123456789abcdef".to_owned()),
            dialect: "paddock".to_owned(),
        };
        assert_eq!(config, Ok(expected));
        assert_eq!(read(&[]), Ok(Config { dialect: "paddock".to_owned(), ..Config::default() }));
    }

    #[test]
    fn wrong_values_are_refused_without_the_token() {
        assert!(read(&[("PADDOCK_ORIGINS", "app.example")]).unwrap_err().contains("`app.example`"));
        for token in ["short", "", "with a space in it!", "\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}\u{fc}"] {
            let message = read(&[("PADDOCK_TOKEN", token)]).unwrap_err();
            assert!(message.contains("at least 16") && (token.is_empty() || !message.contains(token)), "{message}");
        }
    }
}
