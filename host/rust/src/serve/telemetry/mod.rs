//! Metrics, traces and a log. Metrics and traces go to a collector of
//! OpenTelemetry, if the configuration names one. A collector that does not answer costs the spans that do not fit in the
//! queue, and nothing else: its batches are sent by threads of their own.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, Method};
use opentelemetry::KeyValue;
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::PeriodicReader;
use tokio::sync::oneshot;
use url::Url;

use super::config::{CollectorSettings, Settings};
use crate::Ended;
use crate::error::Error;
use crate::hex::hex;
use crate::policy::Configuration;

mod collector;
mod log;
mod metrics;
mod stderr;
mod traces;

use collector::Client;
pub(super) use metrics::{Direction, Metrics, Reason};
pub(super) use stderr::log;
use traces::Traces;
pub(super) use traces::{Answered, Trace};

/// Name of the instrumentation, and of the service unless `OTEL_SERVICE_NAME` has another one.
const SCOPE: &str = "paddock";

/// Maximum time for a batch to the collector.
const BATCH_TIMEOUT: Duration = Duration::from_secs(5);

/// The metrics, the traces and the log.
pub(super) struct Telemetry {
    pub(super) metrics: Metrics,
    traces: Option<Traces>,
    /// Whether each request is logged.
    is_logging: bool,
}

impl Telemetry {
    pub(super) fn new(file: &Configuration, settings: &Settings) -> Result<Self, Error> {
        let wrong = |cause: String| file.wrong("opentelemetry.endpoint", cause);
        let (resource, collector) = (resource(), settings.opentelemetry.as_ref());
        let reader = collector.map(metric_reader).transpose().map_err(wrong)?;
        let exporter = collector.map(span_exporter).transpose().map_err(wrong)?;
        let metrics = Metrics::new(resource.clone(), settings.metrics, reader).map_err(wrong)?;
        let traces = exporter.map(|exporter| Traces::new(resource, exporter));
        Ok(Self { metrics, traces, is_logging: settings.log })
    }

    /// Begins the record of a request.
    pub(super) fn begin(&self, method: &Method, headers: &HeaderMap) -> Trace {
        let caller = Trace::of_caller(headers);
        self.traces.as_ref().map(|traces| traces.start(method, &caller)).unwrap_or(caller)
    }

    /// Records a call in a request, and returns its outcome: `ok`, or the code of its failure.
    pub(super) fn call(&self, trace: &Trace, workspace: &str, ended: &Ended) -> &'static str {
        self.metrics.call(ended);
        self.traces.iter().for_each(|traces| traces.call(trace, workspace, ended));
        metrics::code(ended)
    }

    /// Records the answer to a request: the outcome of its call, and the reason of its refusal.
    pub(super) fn answered(
        &self,
        trace: &Trace,
        answered: &Answered<'_>,
        outcome: Option<&str>,
        reason: Option<Reason>,
    ) {
        let Answered { method, path, route, workspace, holder, status, duration } = *answered;
        self.metrics.request(method, route, status, duration);
        reason.into_iter().for_each(|reason| self.metrics.refusal(reason));
        if self.is_logging {
            let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
            let (method, status, trace_id) = (method.as_str(), status.as_u16(), trace.id());
            log::Line { method, path, workspace, holder, status, outcome, duration_ms, trace_id }.write();
        }
        trace.end(answered);
    }

    /// Sends the last spans and values to the collector, for this time at most.
    pub(super) async fn shutdown(self: Arc<Self>, timeout: Duration) {
        let traces = self.clone();
        let ends = [
            on_thread(move || traces.traces.iter().for_each(|traces| traces.shutdown(timeout))),
            on_thread(move || self.metrics.shutdown(timeout)),
        ];
        let all = async {
            for end in ends {
                // The sender is dropped if the thread cannot be started or panics.
                let _ = end.await;
            }
        };
        // The library does not keep to its own limit.
        let _ = tokio::time::timeout(timeout, all).await;
        stderr::flush();
    }
}

/// Runs a function on a thread of its own, which does not delay the end of the process.
fn on_thread(run: impl FnOnce() + Send + 'static) -> oneshot::Receiver<()> {
    let (sender, receiver) = oneshot::channel();
    let run = move || {
        run();
        // The receiver is gone if the time is over.
        let _ = sender.send(());
    };
    // Without the thread, the collector does not get the last values.
    let _ = std::thread::Builder::new().name("telemetry".to_owned()).spawn(run);
    receiver
}

fn metric_reader(settings: &CollectorSettings) -> Result<PeriodicReader<MetricExporter>, String> {
    let exporter = MetricExporter::builder().with_http().with_http_client(Client { timeout: BATCH_TIMEOUT });
    let exporter = exporter.with_endpoint(endpoint(settings, "v1/metrics")?).with_timeout(BATCH_TIMEOUT);
    Ok(PeriodicReader::builder(exporter.build().map_err(|cause| cause.to_string())?).build())
}

fn span_exporter(settings: &CollectorSettings) -> Result<SpanExporter, String> {
    let exporter = SpanExporter::builder().with_http().with_http_client(Client { timeout: BATCH_TIMEOUT });
    let exporter = exporter.with_endpoint(endpoint(settings, "v1/traces")?).with_timeout(BATCH_TIMEOUT);
    exporter.build().map_err(|cause| cause.to_string())
}

/// Returns the URL for a signal: the one of the setting and this path.
fn endpoint(settings: &CollectorSettings, signal: &str) -> Result<String, String> {
    let url = Url::parse(&settings.endpoint).ok().filter(|url| {
        url.scheme() == "http"
            && url.has_host()
            && url.username().is_empty()
            && url.query().is_none()
            && url.fragment().is_none()
    });
    let url = url.ok_or("it has to be the URL of a collector, such as `http://127.0.0.1:4318`, without TLS")?;
    Ok(format!("{}/{signal}", url.as_str().trim_end_matches('/')))
}

/// Returns the description of this process, to which `OTEL_RESOURCE_ATTRIBUTES` adds.
fn resource() -> Resource {
    let mut instance = [0; 16];
    // Without random numbers, all servers have one identifier.
    let _ = getrandom::fill(&mut instance);
    let attributes =
        [("service.version", env!("CARGO_PKG_VERSION").to_owned()), ("service.instance.id", hex(&instance))];
    let builder = Resource::builder().with_attributes(attributes.map(|(name, value)| KeyValue::new(name, value)));
    match std::env::var_os("OTEL_SERVICE_NAME") {
        Some(_) => builder.build(),
        None => builder.with_service_name(SCOPE).build(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_url_without_secrets() {
        let endpoint = |text: &str| endpoint(&CollectorSettings { endpoint: text.to_owned() }, "v1/traces");
        assert_eq!(endpoint("http://127.0.0.1:4318").as_deref(), Ok("http://127.0.0.1:4318/v1/traces"));
        assert_eq!(endpoint("http://[::1]:4318/a/").as_deref(), Ok("http://[::1]:4318/a/v1/traces"));
        for text in
            ["", "collector:4318", "https://collector", "http://a:b@collector", "http://collector/?key=x", "unix:/x"]
        {
            assert!(endpoint(text).is_err(), "{text}");
        }
    }
}
