//! Description of the HTTP interface.

use axum::body::Body;
use axum::http::{Response, StatusCode};

use super::reply::json_response;

/// The OpenAPI document.
const DOCUMENT: &str = include_str!("openapi.json");

/// Returns the OpenAPI document.
pub(super) async fn document() -> Response<Body> {
    json_response(StatusCode::OK, DOCUMENT)
}

#[cfg(test)]
mod tests {
    use super::DOCUMENT;

    #[test]
    fn the_document_is_json_with_the_routes() {
        let document: serde_json::Value = serde_json::from_str(DOCUMENT).unwrap();
        for path in ["/w/{workspace}/tools", "/w/{workspace}/call"] {
            assert!(document["paths"][path].is_object(), "{path}");
        }
    }
}
