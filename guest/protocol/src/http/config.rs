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
    /// Token that each request has to have in the header `Authorization`.
    pub token: Option<String>,
    /// Whether requests without a token are permitted. If it is false and there is no token, every request is refused.
    pub is_anonymous: bool,
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
    /// | `PADDOCK_TOKEN` | bearer token of at least 16 bytes | none: requests are refused |
    /// | `PADDOCK_ANONYMOUS` | `1` permits requests without a token | `0` |
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
        let is_anonymous = match variable("PADDOCK_ANONYMOUS").as_deref() {
            None | Some("" | "0") => false,
            Some("1") if token.is_none() => true,
            Some("1") => return Err("PADDOCK_ANONYMOUS: with PADDOCK_TOKEN, requests need the token".to_owned()),
            Some(value) => return Err(format!("PADDOCK_ANONYMOUS: `{value}` is neither `0` nor `1`")),
        };
        let dialect = variable("PADDOCK_DIALECT").filter(|dialect| !dialect.is_empty());
        let dialect = dialect.unwrap_or_else(|| DIALECT.to_owned());
        Ok(Self { hosts, origins, token, is_anonymous, dialect })
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
            is_anonymous: false,
            dialect: "paddock".to_owned(),
        };
        assert_eq!(config, Ok(expected));
        assert_eq!(read(&[]), Ok(Config { dialect: "paddock".to_owned(), ..Config::default() }));
    }

    #[test]
    fn requests_without_a_token_are_permitted_only_explicitly() {
        let is_anonymous = |value: &str| read(&[("PADDOCK_ANONYMOUS", value)]).map(|config| config.is_anonymous);
        assert_eq!([is_anonymous("1"), is_anonymous("0"), is_anonymous("")], [Ok(true), Ok(false), Ok(false)]);
        for value in ["true", "yes", " 1", "2"] {
            assert!(is_anonymous(value).unwrap_err().contains("neither `0` nor `1`"), "{value}");
        }
        let both = read(&[("PADDOCK_ANONYMOUS", "1"), ("PADDOCK_TOKEN", "0123456789abcdef")]);
        assert!(both.unwrap_err().starts_with("PADDOCK_ANONYMOUS"));
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
