//! Requests and responses of `wasi:http`.

use paddock_protocol::http::{BodyError, Head, ReadBody, Response};
use wasip2::http::types::{
    Fields, IncomingBody, IncomingRequest, Method, OutgoingBody, OutgoingResponse, ResponseOutparam,
};
use wasip2::io::streams::{OutputStream, StreamError};

/// Bytes of one read and of one write. An engine accepts at least 4096 bytes in one write that waits.
const READ_BYTES: u64 = 64 << 10;
const WRITE_BYTES: usize = 4096;

/// Handles a request by `answer`.
pub(super) fn handle(
    request: IncomingRequest,
    out: ResponseOutparam,
    answer: impl FnOnce(&Head<'_>, ReadBody<'_>) -> Response,
) {
    let method = method_name(request.method());
    let target = request.path_with_query().unwrap_or_default();
    let authority = request.authority();
    // The headers are a resource of their own, and the request cannot be dropped before it.
    let headers = request.headers().entries();
    let head = Head { method: &method, target: &target, authority: authority.as_deref(), headers: &headers };
    let mut read = |max: usize| read_body(&request, max);
    let response = answer(&head, &mut read);
    send(response, out);
}

fn method_name(method: Method) -> String {
    let name = match method {
        Method::Get => "GET",
        Method::Head => "HEAD",
        Method::Post => "POST",
        Method::Put => "PUT",
        Method::Delete => "DELETE",
        Method::Connect => "CONNECT",
        Method::Options => "OPTIONS",
        Method::Trace => "TRACE",
        Method::Patch => "PATCH",
        Method::Other(name) => return name,
    };
    name.to_owned()
}

/// Reads the body of a request, of at most `max` bytes.
fn read_body(request: &IncomingRequest, max: usize) -> Result<Vec<u8>, BodyError> {
    let body = request.consume().map_err(|()| BodyError::Incomplete)?;
    let read = read_stream(&body, max);
    // The trailers of a body that was not read to its end are not waited for.
    drop(IncomingBody::finish(body));
    read
}

fn read_stream(body: &IncomingBody, max: usize) -> Result<Vec<u8>, BodyError> {
    let stream = body.stream().map_err(|()| BodyError::Incomplete)?;
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(READ_BYTES) {
            Ok(chunk) => bytes.extend_from_slice(&chunk),
            Err(StreamError::Closed) => return Ok(bytes),
            Err(StreamError::LastOperationFailed(_)) => return Err(BodyError::Incomplete),
        }
        if bytes.len() > max {
            return Err(BodyError::TooLarge);
        }
    }
}

fn send(response: Response, out: ResponseOutparam) {
    let headers = Fields::new();
    for (name, value) in &response.headers {
        // The names and values are those of the server, and valid.
        let _ = headers.append(name, value.as_bytes());
    }
    // The length lets the client see that a body is complete.
    let _ = headers.append("content-length", response.body.len().to_string().as_bytes());
    let outgoing = OutgoingResponse::new(headers);
    let _ = outgoing.set_status_code(response.status);
    let Ok(body) = outgoing.body() else { return };
    ResponseOutparam::set(out, Ok(outgoing));
    if let Ok(stream) = body.write() {
        // If the client is gone, nothing is left to do.
        drop(write(&stream, &response.body));
    }
    drop(OutgoingBody::finish(body, None));
}

fn write(stream: &OutputStream, body: &[u8]) -> Result<(), StreamError> {
    body.chunks(WRITE_BYTES).try_for_each(|chunk| stream.blocking_write_and_flush(chunk))
}
