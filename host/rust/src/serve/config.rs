//! The configuration file of the server.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use url::Url;

use crate::options::DIALECT;

/// Settings of the server, as in its file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    /// Address and port of the server.
    #[serde(default = "listen")]
    pub(super) listen: SocketAddr,
    /// Whether requests without a token are permitted. The address has to be a loopback address.
    #[serde(default)]
    pub(super) anonymous: bool,
    /// Values of the header `Host` that are permitted, in addition to loopback names on a loopback address.
    #[serde(default)]
    pub(super) hosts: Vec<String>,
    /// Values of the header `Origin` that are permitted.
    #[serde(default)]
    pub(super) origins: Vec<String>,
    /// Whether `/metrics` publishes the metrics.
    #[serde(default)]
    pub(super) metrics: bool,
    /// Whether each request is logged to standard error.
    #[serde(default)]
    pub(super) log: bool,
    /// Collector for metrics and traces.
    pub(super) opentelemetry: Option<CollectorSettings>,
    /// URL at which clients reach the server, for the metadata of its authorization.
    #[serde(default, deserialize_with = "url")]
    pub(super) public_url: Option<Url>,
    /// Directory for the state directories of the workspaces.
    pub(super) state_dir: Option<PathBuf>,
    /// Directory for the audit logs, one for each workspace.
    pub(super) audit_dir: Option<PathBuf>,
    #[serde(default)]
    pub(super) limits: ServerLimits,
    #[serde(default)]
    pub(super) workspaces: BTreeMap<String, WorkspaceSettings>,
    #[serde(default)]
    pub(super) templates: Vec<TemplateSettings>,
    #[serde(default)]
    pub(super) tokens: Vec<TokenSettings>,
    pub(super) biscuit: Option<BiscuitSettings>,
    pub(super) jwt: Option<JwtSettings>,
}

/// A collector of OpenTelemetry.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CollectorSettings {
    /// URL of its receiver for OTLP over HTTP, without TLS.
    pub(super) endpoint: String,
}

/// A workspace: exactly one of `root`, `container` and `memory`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkspaceSettings {
    /// Directory of the workspace.
    pub(super) root: Option<PathBuf>,
    /// Name of an overlay over the directory.
    pub(super) overlay: Option<String>,
    /// Running container.
    pub(super) container: Option<String>,
    /// Whether the workspace is a tree in memory, which is empty at the start.
    #[serde(default)]
    pub(super) memory: bool,
    /// Dialect of calls that name none.
    #[serde(default = "dialect")]
    pub(super) dialect: String,
    /// Policy, which is read as a layer.
    #[serde(rename = "policy")]
    pub(super) _policy: Option<IgnoredAny>,
    #[serde(default)]
    pub(super) limits: TenantLimits,
}

/// Workspaces in the directories of one parent directory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TemplateSettings {
    /// Path that ends in `/{name}`.
    pub(super) root: String,
    /// Dialect of calls that name none.
    #[serde(default = "dialect")]
    pub(super) dialect: String,
    /// Policy, which is read as a layer.
    #[serde(rename = "policy")]
    pub(super) _policy: Option<IgnoredAny>,
    #[serde(default)]
    pub(super) limits: TenantLimits,
}

/// A token whose hash is in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenSettings {
    /// Name of the holder, for logs.
    pub(super) name: String,
    /// SHA-256 of the token, as 64 hex digits.
    pub(super) sha256: String,
    /// Whether the holder may use the status page, which shows all workspaces and undoes changes.
    #[serde(default)]
    pub(super) operator: bool,
    /// The rights in workspaces, which every token but an operator's has.
    pub(super) grant: Option<GrantSettings>,
}

/// The rights of a token. Every member but `workspaces` is a restriction.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GrantSettings {
    /// Names of workspaces; a name that ends in `*` stands for all names that start so.
    pub(super) workspaces: Vec<String>,
    /// Directory of the workspace to which the token is limited, and which is then the root.
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) read_only: bool,
    /// Settings that narrow the policy of the workspace.
    #[serde(default)]
    pub(super) policy: Map<String, Value>,
    /// The only dialect.
    pub(super) dialect: Option<String>,
    /// The only tools, by their names in the dialect.
    pub(super) tools: Option<Vec<String>>,
    /// Time at which the token expires, as in RFC 3339.
    pub(super) expires: Option<String>,
    /// Maximum number of calls, since the start of the server.
    pub(super) calls: Option<u64>,
    /// Maximum number of bytes of requests and answers, since the start of the server.
    pub(super) bytes: Option<u64>,
}

/// Signed tokens that their holders can attenuate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BiscuitSettings {
    /// Ed25519 public key of the issuer, as 64 hex digits.
    pub(super) public_key: String,
}

/// Tokens of an external identity provider.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JwtSettings {
    pub(super) issuer: String,
    pub(super) audience: String,
    /// File with the JSON Web Key Set of the issuer.
    pub(super) jwks: PathBuf,
}

/// Limits of the whole server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ServerLimits {
    /// Maximum number of open connections.
    #[serde(deserialize_with = "positive")]
    pub(super) max_connections: usize,
    /// Maximum number of calls at the same time, and so of threads for calls and of bodies in memory.
    #[serde(deserialize_with = "positive")]
    pub(super) max_calls: usize,
    /// Maximum size of a request's body in bytes.
    #[serde(deserialize_with = "positive")]
    pub(super) max_body_bytes: usize,
    /// Maximum size of a request's headers in bytes.
    #[serde(deserialize_with = "positive")]
    pub(super) max_header_bytes: usize,
    /// Maximum time in milliseconds from the end of a request to the end of the headers of the next one. It is longer than the
    /// time for which proxies and clients keep an idle connection: one that the server closes first fails their next request.
    #[serde(deserialize_with = "positive")]
    pub(super) header_timeout_ms: u64,
    /// Maximum time in milliseconds in which a client has to send the body of a request.
    #[serde(deserialize_with = "positive")]
    pub(super) body_timeout_ms: u64,
    /// Maximum time in milliseconds for which a client may read nothing of an answer.
    #[serde(deserialize_with = "positive")]
    pub(super) write_timeout_ms: u64,
    /// Maximum number of workspaces that stay open between requests, counting each restriction by a token.
    #[serde(deserialize_with = "positive")]
    pub(super) max_open_workspaces: usize,
    /// Maximum number of open MCP sessions.
    pub(super) max_sessions: usize,
    /// Time in milliseconds after which an MCP session without requests ends.
    pub(super) session_idle_ms: u64,
    /// Maximum time in milliseconds for which a shutdown waits for running calls, which are then cancelled.
    pub(super) shutdown_ms: u64,
}

/// Limits of one workspace, for all its callers together.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TenantLimits {
    /// Maximum number of calls at the same time.
    pub(super) concurrent_calls: usize,
    /// Maximum number of calls in a second, averaged over ten seconds.
    #[serde(deserialize_with = "positive")]
    pub(super) calls_per_second: u64,
    /// Maximum number of bytes of requests and answers in a second, averaged over ten seconds.
    #[serde(deserialize_with = "positive")]
    pub(super) bytes_per_second: u64,
    /// Maximum running time of calls in milliseconds in each second, averaged over ten seconds: the sum over concurrent
    /// calls.
    #[serde(deserialize_with = "positive")]
    pub(super) call_ms_per_second: u64,
    /// Maximum number of streams that stay open: subscriptions, and streams of sessions.
    pub(super) streams: usize,
    /// Maximum number of open MCP sessions.
    pub(super) sessions: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            max_connections: 1024,
            max_calls: 64,
            max_body_bytes: 16 << 20,
            max_header_bytes: 16 << 10,
            header_timeout_ms: 75_000,
            body_timeout_ms: 30_000,
            write_timeout_ms: 30_000,
            max_open_workspaces: 1024,
            max_sessions: 256,
            session_idle_ms: 1_800_000,
            shutdown_ms: 10_000,
        }
    }
}

impl Default for TenantLimits {
    fn default() -> Self {
        Self {
            concurrent_calls: 8,
            calls_per_second: 50,
            bytes_per_second: 16 << 20,
            call_ms_per_second: 8_000,
            streams: 32,
            sessions: 32,
        }
    }
}

impl ServerLimits {
    pub(super) fn header_timeout(&self) -> Duration {
        Duration::from_millis(self.header_timeout_ms)
    }

    pub(super) fn body_timeout(&self) -> Duration {
        Duration::from_millis(self.body_timeout_ms)
    }

    pub(super) fn write_timeout(&self) -> Duration {
        Duration::from_millis(self.write_timeout_ms)
    }

    pub(super) fn session_idle(&self) -> Duration {
        Duration::from_millis(self.session_idle_ms)
    }

    pub(super) fn shutdown(&self) -> Duration {
        Duration::from_millis(self.shutdown_ms)
    }
}

/// Reads a number that is not zero: a limit of zero would refuse everything.
fn positive<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default + PartialEq,
{
    let number = T::deserialize(deserializer)?;
    if number == T::default() { Err(D::Error::custom("it has to be at least 1")) } else { Ok(number) }
}

fn url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Url>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| Url::parse(&text).map_err(D::Error::custom)).transpose()
}

fn listen() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 8710))
}

fn dialect() -> String {
    DIALECT.to_owned()
}
