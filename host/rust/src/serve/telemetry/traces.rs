//! Traces: a span for each request, which continues the trace of the caller, and a span for each of its calls. A span has
//! names, codes and sizes, but no argument, content or token.

use std::time::{Duration, SystemTime};

use axum::http::{HeaderMap, Method, StatusCode};
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{Span, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracer, SdkTracerProvider, SpanExporter};

use super::SCOPE;
use super::metrics::{code, known_method, known_operation};
use crate::Ended;

/// Maximum number of spans in memory. Further ones are lost.
const MAX_SPANS: usize = 2048;

/// Number of spans in one request to the collector.
const BATCH: usize = 512;

/// Time after which spans are sent.
const DELAY: Duration = Duration::from_secs(2);

/// Maximum length in bytes of `tracestate`, which the specification asks to keep, and of a path in a span.
const MAX_TEXT: usize = 512;

/// The traces of the server.
pub(super) struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

/// The trace of a request: with its span, or that of the caller alone.
#[derive(Clone)]
pub(in super::super) struct Trace(Context);

/// What a span says about an answered request.
pub(in super::super) struct Answered<'a> {
    pub(in super::super) method: &'a Method,
    /// Path of the request, without the query.
    pub(in super::super) path: &'a str,
    /// Route of the router, if there is one.
    pub(in super::super) route: Option<&'a str>,
    pub(in super::super) workspace: Option<&'a str>,
    pub(in super::super) holder: Option<&'a str>,
    pub(in super::super) status: StatusCode,
    pub(in super::super) duration: Duration,
}

impl Traces {
    pub(super) fn new(resource: Resource, exporter: impl SpanExporter + 'static) -> Self {
        let config = BatchConfigBuilder::default().with_max_queue_size(MAX_SPANS).with_max_export_batch_size(BATCH);
        let config = config.with_scheduled_delay(DELAY).build();
        let processor = BatchSpanProcessor::builder(exporter).with_batch_config(config).build();
        let provider = SdkTracerProvider::builder().with_resource(resource).with_span_processor(processor).build();
        Self { tracer: provider.tracer(SCOPE), provider }
    }

    /// Starts the span of a request.
    pub(super) fn start(&self, method: &Method, caller: &Trace) -> Trace {
        let builder = SpanBuilder::from_name(known_method(method)).with_kind(SpanKind::Server);
        Trace(caller.0.with_span(self.tracer.build_with_context(builder, &caller.0)))
    }

    /// Records a call in a request, which has just ended.
    pub(super) fn call(&self, trace: &Trace, workspace: &str, ended: &Ended) {
        let (now, operation, code) = (SystemTime::now(), known_operation(ended.operation.as_deref()), code(ended));
        let duration = Duration::try_from_secs_f64(ended.duration_ms / 1e3).unwrap_or_default();
        let mut attributes = vec![
            KeyValue::new("paddock.call", ended.call.clone()),
            KeyValue::new("paddock.workspace", workspace.to_owned()),
            KeyValue::new("paddock.dialect", ended.dialect.clone()),
            KeyValue::new("paddock.tool", ended.tool.clone()),
            KeyValue::new("paddock.operation", operation),
            KeyValue::new("paddock.code", code),
            KeyValue::new("paddock.bytes", i64::try_from(ended.bytes).unwrap_or(i64::MAX)),
        ];
        if ended.error.is_some() {
            attributes.push(KeyValue::new("error.type", code));
        }
        let builder = SpanBuilder::from_name(format!("call {operation}")).with_attributes(attributes);
        let builder = builder.with_kind(SpanKind::Internal).with_start_time(now.checked_sub(duration).unwrap_or(now));
        let mut span = self.tracer.build_with_context(builder, &trace.0);
        if ended.error.is_some() {
            span.set_status(Status::error(code));
        }
        span.end_with_timestamp(now);
    }

    /// Sends the last spans, and ends.
    pub(super) fn shutdown(&self, timeout: Duration) {
        // A collector that does not answer has no spans.
        let _ = self.provider.shutdown_with_timeout(timeout);
    }
}

impl Trace {
    /// Returns the trace that a caller names in `traceparent`, as in W3C Trace Context, or none.
    pub(super) fn of_caller(headers: &HeaderMap) -> Self {
        Self(TraceContextPropagator::new().extract_with_context(&Context::new(), &Headers(headers)))
    }

    /// Returns the identifier of the trace as hex digits, if there is a trace.
    pub(in super::super) fn id(&self) -> Option<String> {
        let context = self.0.span().span_context().clone();
        context.is_valid().then(|| context.trace_id().to_string())
    }

    /// Ends the span of the request.
    pub(super) fn end(&self, answered: &Answered<'_>) {
        let span = self.0.span();
        if !span.is_recording() {
            return;
        }
        let method = known_method(answered.method);
        span.set_attribute(KeyValue::new("http.request.method", method));
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(answered.status.as_u16())));
        span.set_attribute(KeyValue::new("url.scheme", "http"));
        span.set_attribute(KeyValue::new("url.path", shortened(answered.path)));
        let texts = [("paddock.workspace", answered.workspace), ("paddock.holder", answered.holder)];
        for (name, text) in texts.into_iter().chain([("http.route", answered.route)]) {
            text.into_iter().for_each(|text| span.set_attribute(KeyValue::new(name, shortened(text))));
        }
        if let Some(route) = answered.route {
            span.update_name(format!("{method} {route}"));
        }
        if answered.status.is_server_error() {
            span.set_attribute(KeyValue::new("error.type", answered.status.as_str().to_owned()));
            span.set_status(Status::error(""));
        }
        span.end();
    }
}

/// The headers of a trace. The other ones are none of its business.
struct Headers<'h>(&'h HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let mut values = self.0.get_all(key).iter();
        let value = values.next().filter(|_| values.next().is_none())?;
        value.to_str().ok().filter(|value| value.len() <= MAX_TEXT)
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

fn shortened(text: &str) -> String {
    text.get(..text.floor_char_boundary(MAX_TEXT)).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_valid_header_continues_a_trace() {
        let id = "0af7651916cd43dd8448eb211c80319c";
        let value = format!("00-{id}-b7ad6b7169203331-01");
        let trace = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("traceparent", value.parse().unwrap());
            }
            Trace::of_caller(&headers).id()
        };
        assert_eq!(trace(&[&value]).as_deref(), Some(id));
        let long = format!("{value}{}", "-x".repeat(300));
        let refused: [&[&str]; 4] = [&[], &[&value, &value], &["00-0-0-01"], &[&long]];
        for values in refused {
            assert_eq!(trace(values), None, "{values:?}");
        }
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(shortened(&"ä".repeat(1000)).len(), MAX_TEXT);
        assert_eq!(shortened("a"), "a");
    }
}
