//! Metrics. Each instrument is defined once, by OpenTelemetry: Prometheus reads it, and a collector receives it.
//!
//! The values of all attributes are closed sets: a caller cannot add a time series. No attribute names a workspace or a
//! caller.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter, MeterProvider};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use prometheus::{Registry, TextEncoder};

use super::SCOPE;
use crate::Ended;

/// Upper bounds of the buckets for durations of requests in seconds, as in the semantic conventions for HTTP.
const REQUEST_SECONDS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];

/// Upper bounds of the buckets for durations of calls in seconds. Most calls take less than a millisecond.
const CALL_SECONDS: &[f64] =
    &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// Operations of calls, as `accessed-paths` in `wit/tools.wit` lists them.
const OPERATIONS: &[&str] = &[
    "read",
    "write",
    "edit",
    "patch",
    "make-directory",
    "copy",
    "move",
    "delete",
    "pack",
    "unpack",
    "restore",
    "replace",
    "history",
    "stat",
    "list",
    "tree",
    "glob",
    "grep",
    "changes",
    "run",
];

/// Instruments of the server.
pub(in super::super) struct Metrics {
    provider: SdkMeterProvider,
    meter: Meter,
    /// Registry for Prometheus, if the configuration publishes it.
    registry: Option<Registry>,
    requests: Histogram<f64>,
    refused: Counter<u64>,
    transferred: Counter<u64>,
    calls: Counter<u64>,
    call_durations: Histogram<f64>,
    call_bytes: Counter<u64>,
}

/// Direction of transferred bytes.
#[derive(Clone, Copy)]
pub(in super::super) enum Direction {
    Received,
    Sent,
}

/// The reason of a refusal, for the metrics: the name of the limit that was reached, or what was wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Reason(pub(in super::super) &'static str);

impl Metrics {
    /// Creates the instruments. Without a reader, they cost next to nothing.
    pub(super) fn new<E>(
        resource: Resource,
        publishes: bool,
        collector: Option<PeriodicReader<E>>,
    ) -> Result<Self, String>
    where
        E: opentelemetry_sdk::metrics::exporter::PushMetricExporter,
    {
        let registry = publishes.then(Registry::new);
        let mut provider = SdkMeterProvider::builder().with_resource(resource);
        if let Some(registry) = &registry {
            let exporter = opentelemetry_prometheus::exporter().with_registry(registry.clone());
            let exporter = exporter.scope_info_enabled(false).build().map_err(|cause| cause.to_string())?;
            provider = provider.with_reader(exporter);
        }
        if let Some(reader) = collector {
            provider = provider.with_reader(reader);
        }
        let provider = provider.build();
        let meter = provider.meter(SCOPE);
        Ok(Self {
            requests: seconds(
                &meter,
                "http.server.request.duration",
                "Time until the head of the answer",
                REQUEST_SECONDS,
            ),
            refused: counter(&meter, "paddock.refused_requests", "Refused requests"),
            transferred: bytes(&meter, "paddock.transferred", "Bytes of bodies of requests and answers"),
            calls: counter(&meter, "paddock.calls", "Calls that have ended"),
            call_durations: seconds(&meter, "paddock.call.duration", "Durations of calls", CALL_SECONDS),
            call_bytes: bytes(&meter, "paddock.call.accessed", "Bytes that calls have read, written or searched"),
            provider,
            meter,
            registry,
        })
    }

    /// Adds a gauge, whose value is read when the metrics are.
    pub(in super::super) fn gauge(
        &self,
        name: &'static str,
        description: &'static str,
        value: impl Fn() -> usize + Send + Sync + 'static,
    ) {
        let read =
            move |observer: &dyn opentelemetry::metrics::AsyncInstrument<u64>| observer.observe(count(value()), &[]);
        self.meter.u64_observable_gauge(name).with_description(description).with_callback(read).build();
    }

    /// Records an answered request. The route is that of the router.
    pub(super) fn request(&self, method: &Method, route: Option<&str>, status: StatusCode, duration: Duration) {
        let attributes = [
            KeyValue::new("http.request.method", known_method(method)),
            KeyValue::new("http.response.status_code", i64::from(status.as_u16())),
            KeyValue::new("http.route", route.unwrap_or("none").to_owned()),
        ];
        self.requests.record(duration.as_secs_f64(), &attributes);
    }

    pub(super) fn refusal(&self, Reason(reason): Reason) {
        self.refused.add(1, &[KeyValue::new("reason", reason)]);
    }

    /// Counts bytes of a body.
    pub(in super::super) fn transfer(&self, direction: Direction, bytes: usize) {
        let direction = match direction {
            Direction::Received => "received",
            Direction::Sent => "sent",
        };
        self.transferred.add(count(bytes), &[KeyValue::new("direction", direction)]);
    }

    /// Records a call that has ended.
    pub(super) fn call(&self, ended: &Ended) {
        let operation = KeyValue::new("operation", known_operation(ended.operation.as_deref()));
        self.call_durations.record(ended.duration_ms / 1e3, std::slice::from_ref(&operation));
        self.call_bytes.add(ended.bytes, std::slice::from_ref(&operation));
        self.calls.add(1, &[operation, KeyValue::new("code", code(ended))]);
    }

    /// Returns the metrics in the text format of Prometheus, if the configuration publishes them.
    pub(in super::super) fn render(&self) -> Option<String> {
        let families = self.registry.as_ref()?.gather();
        // The encoder fails if a family is empty, which it then leaves out.
        let families: Vec<_> = families.into_iter().filter(|family| !family.get_metric().is_empty()).collect();
        TextEncoder::new().encode_to_string(&families).ok()
    }

    /// Sends the last values to the collector, and ends.
    pub(super) fn shutdown(&self, timeout: Duration) {
        // A collector that does not answer has no values.
        let _ = self.provider.shutdown_with_timeout(timeout);
    }
}

/// Returns `ok` or the code of the failure.
pub(super) fn code(ended: &Ended) -> &'static str {
    ended.error.map_or("ok", crate::types::ErrorCode::name)
}

/// Returns the method, of which a client can send any.
pub(super) fn known_method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::PUT => "PUT",
        _ => "_OTHER",
    }
}

/// Returns the operation; `invalid` if the arguments were.
pub(super) fn known_operation(operation: Option<&str>) -> &'static str {
    let Some(operation) = operation else { return "invalid" };
    OPERATIONS.iter().copied().find(|known| *known == operation).unwrap_or("other")
}

fn counter(meter: &Meter, name: &'static str, description: &'static str) -> Counter<u64> {
    meter.u64_counter(name).with_description(description).build()
}

fn bytes(meter: &Meter, name: &'static str, description: &'static str) -> Counter<u64> {
    meter.u64_counter(name).with_description(description).with_unit("By").build()
}

fn seconds(meter: &Meter, name: &'static str, description: &'static str, bounds: &[f64]) -> Histogram<f64> {
    let histogram = meter.f64_histogram(name).with_description(description).with_unit("s");
    histogram.with_boundaries(bounds.to_vec()).build()
}

fn count(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_operations_are_those_of_the_interface() {
        let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit/tools.wit");
        // A packed crate has no copy of the text.
        let Ok(wit) = fs::read_to_string(wit) else {
            return println!("skipped: `wit/tools.wit` is not in a packed crate");
        };
        let list = wit.split("/// The operation: ").nth(1).unwrap().split("operation: string").next().unwrap();
        let listed: BTreeSet<_> = list.split('`').skip(1).step_by(2).collect();
        assert_eq!(listed, OPERATIONS.iter().copied().collect());
    }

    #[test]
    fn unknown_values_add_no_time_series() {
        assert_eq!((known_operation(Some("read")), known_operation(Some("x\n"))), ("read", "other"));
        assert_eq!(known_operation(None), "invalid");
        assert_eq!(known_method(&Method::from_bytes(b"BREW").unwrap()), "_OTHER");
    }
}
