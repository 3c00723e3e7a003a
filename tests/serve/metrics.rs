//! Counters.

use serde_json::json;

use super::client::Running;

#[test]
fn requests_are_counted_if_the_configuration_says_so() {
    let server = Running::notes("metrics: true\n");
    server.call("tree", json!({}));
    server.call_as("wrong", "notes", "tree", json!({}));
    let text = server.get("/metrics", "").text();
    for line in [
        r#"paddock_requests_total{method="POST",status="200"} 1"#,
        r#"paddock_requests_total{method="POST",status="401"} 1"#,
        "paddock_running_calls 0",
        "# EOF",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert_eq!(Running::notes("").get("/metrics", "").status, 404);
}
