//! Counters for Prometheus, and a line for each request in the log of the server.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::http::{HeaderValue, Method, Response, StatusCode, header};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use serde::Serialize;

/// Labels of a counter.
type Labels = [(&'static str, String); 2];

/// Counters of the server.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Labels, Counter>,
    durations: Histogram,
    bytes: Counter,
    calls: Gauge,
    sessions: Gauge,
}

/// A line of the log.
#[derive(Serialize)]
pub(super) struct Line<'l> {
    pub(super) method: &'l str,
    /// The path without the query.
    pub(super) path: &'l str,
    pub(super) holder: Option<&'l str>,
    pub(super) status: u16,
    pub(super) duration_ms: u64,
}

#[derive(Serialize)]
struct Timed<'l> {
    time: String,
    event: &'static str,
    #[serde(flatten)]
    line: Line<'l>,
}

impl Metrics {
    pub(super) fn new() -> Self {
        let mut registry = Registry::with_prefix("paddock");
        let metrics = (Family::default(), Histogram::new(exponential_buckets(0.001, 4.0, 8)), Counter::default());
        let (requests, durations, bytes) = metrics;
        let (calls, sessions) = (Gauge::default(), Gauge::default());
        registry.register("requests", "Answered requests", requests.clone());
        registry.register_with_unit("request", "Time until the head of the answer", Unit::Seconds, durations.clone());
        registry.register_with_unit(
            "transferred",
            "Bytes of bodies of requests and answers",
            Unit::Bytes,
            bytes.clone(),
        );
        registry.register("running_calls", "Calls that run now", calls.clone());
        registry.register("sessions", "Open MCP sessions", sessions.clone());
        Self { registry, requests, durations, bytes, calls, sessions }
    }

    /// Counts a request.
    pub(super) fn count(&self, method: &Method, status: StatusCode, duration: Duration) {
        // A client can send any method.
        let method = match *method {
            Method::GET | Method::POST | Method::DELETE => method.as_str(),
            _ => "other",
        };
        let labels = [("method", method.to_owned()), ("status", status.as_u16().to_string())];
        self.requests.get_or_create(&labels).inc();
        self.durations.observe(duration.as_secs_f64());
    }

    /// Counts bytes of a request or an answer.
    pub(super) fn transfer(&self, bytes: usize) {
        self.bytes.inc_by(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    /// Returns all counters, in the text format of Prometheus.
    pub(super) fn render(&self, calls: usize, sessions: usize) -> Response<Body> {
        self.calls.set(i64::try_from(calls).unwrap_or(i64::MAX));
        self.sessions.set(i64::try_from(sessions).unwrap_or(i64::MAX));
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        let mut response = Response::new(Body::from(text));
        let content_type = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        response
    }
}

impl Line<'_> {
    /// Writes the line to standard error, as one JSON object.
    pub(super) fn write(self) {
        let time = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
        if let Ok(line) = serde_json::to_string(&Timed { time, event: "request", line: self }) {
            log(&line);
        }
    }
}

/// Writes a line to standard error. A closed standard error ends no request.
pub(super) fn log(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
