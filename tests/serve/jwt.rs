//! Tokens of an identity provider.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::Running;
use super::sessions::read_streams;

/// The Ed25519 key of RFC 8037, appendix A, as PKCS #8, and its public key.
const PRIVATE: &str = "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g";
const PUBLIC: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

/// The P-256 key of RFC 7515, appendix A.3, as PKCS #8, and its public key.
const P256_PRIVATE: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjpsQnnGQmL+YBIffH1136cspYG6+0iY7X1fCE9+E9LKhRANCAAR/zc4ncPbEXUGDy+5v20t7WAczNXvp7xO6z248e9FURcfxRM0bvZt+hyzf7bnuufSzaV1uqQskrYpGIyiFiOWt";
const P256_PUBLIC: [&str; 2] =
    ["f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"];

fn provider() -> Running {
    let home = TempDir::new().unwrap();
    fs::create_dir(home.path().join("notes")).unwrap();
    let key = json!({"kty": "OKP", "crv": "Ed25519", "x": PUBLIC, "kid": "one", "use": "sig", "alg": "EdDSA"});
    let [x, y] = P256_PUBLIC;
    let p256 = json!({"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": "p256", "use": "sig", "alg": "ES256"});
    fs::write(home.path().join("keys.json"), json!({"keys": [key, p256]}).to_string()).unwrap();
    let jwt = "jwt: {issuer: 'https://id.example', audience: paddock, jwks: keys.json}\n";
    Running::at(
        home,
        &format!("public_url: 'https://paddock.example/'\nworkspaces:\n  notes: {{root: '{{home}}/notes'}}\n{jwt}"),
    )
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn claims() -> Value {
    json!({"iss": "https://id.example", "aud": "paddock", "exp": now() + 600, "sub": "alice",
        "paddock": {"workspaces": ["notes"], "read_only": true}})
}

fn signed(claims: &Value, kid: &str) -> String {
    let der = STANDARD.decode(PRIVATE).unwrap();
    let header = Header { kid: Some(kid.to_owned()), ..Header::new(Algorithm::EdDSA) };
    encode(&header, claims, &EncodingKey::from_ed_der(&der)).unwrap()
}

#[test]
fn a_token_of_the_provider_has_its_claims() {
    let server = provider();
    let token = signed(&claims(), "one");
    assert_eq!(server.call_as(&token, "notes", "tree", json!({})).status, 200);
    let written = server.call_as(&token, "notes", "write_file", json!({"path": "x", "content": ""})).json();
    assert_eq!(written["error"]["code"], "read-only", "{written}");
    assert_eq!(server.call_as(&token, "other", "tree", json!({})).status, 403);
}

#[test]
fn other_tokens_are_not_valid() {
    let server = provider();
    let status = |token: &str| server.call_as(token, "notes", "tree", json!({})).status;
    let with = |name: &str, value: Value| {
        let mut claims = claims();
        claims[name] = value;
        signed(&claims, "one")
    };
    let without = |name: &str| {
        let mut claims = claims();
        claims.as_object_mut().unwrap().remove(name);
        signed(&claims, "one")
    };
    for (case, token) in [
        ("issuer", with("iss", json!("https://evil.example"))),
        ("audience", with("aud", json!("other"))),
        ("expired", with("exp", json!(now() - 600))),
        ("not yet", with("nbf", json!(now() + 600))),
        ("grant", with("paddock", json!({"workspaces": ["notes"], "admin": true}))),
        ("no issuer", without("iss")),
        ("no audience", without("aud")),
        ("no expiry", without("exp")),
        ("no grant", without("paddock")),
        ("key", signed(&claims(), "two")),
    ] {
        assert_eq!(status(&token), 401, "{case}");
    }
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let unsigned = format!("{}.{}.", part(json!({"alg": "none", "kid": "one"})), part(claims()));
    assert_eq!(status(&unsigned), 401);
    // The public key as the secret of a symmetric signature.
    let symmetric = Header { kid: Some("one".to_owned()), ..Header::new(Algorithm::HS256) };
    let secret = EncodingKey::from_secret(&URL_SAFE_NO_PAD.decode(PUBLIC).unwrap());
    assert_eq!(status(&encode(&symmetric, &claims(), &secret).unwrap()), 401);
    // A key that the token brings along.
    let own = json!({"kty": "OKP", "crv": "Ed25519", "x": PUBLIC, "kid": "own"});
    let header = json!({"alg": "EdDSA", "kid": "own", "jwk": own, "jku": "https://evil.example/keys.json"});
    let (_, rest) =
        signed(&claims(), "own").split_once('.').map(|(head, rest)| (head.to_owned(), rest.to_owned())).unwrap();
    assert_eq!(status(&format!("{}.{rest}", part(header))), 401);
    let token = signed(&claims(), "one");
    let mut parts: Vec<String> = token.split('.').map(str::to_owned).collect();
    parts[1] = part(json!({"paddock": {"workspaces": ["*"]}}));
    assert_eq!(status(&parts.join(".")), 401);
}

#[test]
fn a_token_that_is_replayed_has_one_budget() {
    let server = provider();
    let with = |id: &str| {
        let mut claims = claims();
        claims["jti"] = json!(id);
        claims["paddock"]["calls"] = json!(2);
        signed(&claims, "one")
    };
    let status = |token: &str| server.call_as(token, "notes", "stat", json!({"path": "."})).status;
    let (first, second) = (with("1"), with("2"));
    let statuses: Vec<u16> = (0..4).map(|_| status(&first)).collect();
    assert_eq!(statuses, [200, 200, 403, 403]);
    assert_eq!(status(&second), 200);
}

/// Whoever has a token of ECDSA can make a second one without the key: with `(r, s)`, `(r, -s)` is a signature too.
#[test]
fn another_signature_of_the_same_claims_has_no_budget_of_its_own() {
    let server = provider();
    let mut claims = claims();
    claims["paddock"]["calls"] = json!(2);
    let der = STANDARD.decode(P256_PRIVATE).unwrap();
    let header = Header { kid: Some("p256".to_owned()), ..Header::new(Algorithm::ES256) };
    let first = encode(&header, &claims, &EncodingKey::from_ec_der(&der)).unwrap();
    let (signed, signature) = first.rsplit_once('.').unwrap();
    let mut signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    negate(&mut signature[32..]);
    let second = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature));
    let status = |token: &str| server.call_as(token, "notes", "stat", json!({"path": "."})).status;
    assert_eq!([&first, &second, &second, &first].map(|token| status(token)), [200, 200, 403, 403]);
}

/// Subtracts a number, with its most significant byte first, from the order of P-256.
fn negate(number: &mut [u8]) {
    const ORDER: &str = "/////wAAAAD//////////7zm+q2nF56E87nKwvxjJVE=";
    let mut borrow = 0;
    for (byte, order) in number.iter_mut().zip(STANDARD.decode(ORDER).unwrap()).rev() {
        let difference = i16::from(order) - i16::from(*byte) - borrow;
        borrow = i16::from(difference < 0);
        *byte = u8::try_from(difference.rem_euclid(256)).unwrap();
    }
}

/// The server accepts a token for 30 seconds after its expiry, because clocks differ.
#[test]
fn a_stream_ends_when_the_token_of_the_provider_expires() {
    let server = provider();
    let mut claims = claims();
    claims["exp"] = json!(now() - 26);
    let token = signed(&claims, "one");
    for text in read_streams(&server, &token) {
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        assert!(now() >= claims["exp"].as_u64().unwrap() + 30, "{text}");
    }
    assert_eq!(server.call_as(&token, "notes", "tree", json!({})).status, 401);
}

#[test]
fn no_tool_reads_or_writes_the_keys() {
    let home = TempDir::new().unwrap();
    fs::create_dir(home.path().join("notes")).unwrap();
    let keys = home.path().join("notes/keys.json");
    let key = json!({"kty": "OKP", "crv": "Ed25519", "x": PUBLIC, "kid": "one", "use": "sig", "alg": "EdDSA"});
    fs::write(&keys, json!({"keys": [key]}).to_string()).unwrap();
    let jwt = "jwt: {issuer: 'https://id.example', audience: paddock, jwks: notes/keys.json}\n";
    let server = Running::at(home, &format!("workspaces:\n  notes: {{root: '{{home}}/notes'}}\n{jwt}"));
    let mut claims = claims();
    claims["paddock"]["read_only"] = json!(false);
    let token = signed(&claims, "one");
    for (tool, arguments) in [
        ("read_file", json!({"path": "keys.json"})),
        ("write_file", json!({"path": "keys.json", "content": "{}", "overwrite": true})),
        ("delete", json!({"path": "keys.json"})),
    ] {
        assert_eq!(server.call_as(&token, "notes", tool, arguments).json()["ok"], false, "{tool}");
    }
    assert!(fs::read_to_string(server.root().join("keys.json")).unwrap().contains(PUBLIC));
}

#[test]
fn an_extension_that_the_token_calls_critical_is_not_ignored() {
    let header = json!({"alg": "EdDSA", "kid": "one", "crit": ["b64"], "b64": true});
    let claims = claims();
    let text = [&header, &claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".");
    let der = STANDARD.decode(PRIVATE).unwrap();
    let key = EncodingKey::from_ed_der(&der);
    let signature = jsonwebtoken::crypto::sign(text.as_bytes(), &key, Algorithm::EdDSA).unwrap();
    let server = provider();
    assert_eq!(server.call_as(&format!("{text}.{signature}"), "notes", "tree", json!({})).status, 401);
}

#[test]
fn the_metadata_name_the_provider() {
    let server = provider();
    let refused = server.request("GET", "/w/notes/tools", &[], "");
    let expected =
        "Bearer resource_metadata=\"https://paddock.example/.well-known/oauth-protected-resource/w/notes/mcp\"";
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some(expected)));
    let metadata = server.get("/.well-known/oauth-protected-resource/w/notes/mcp", "").json();
    assert_eq!(metadata["resource"], "https://paddock.example/w/notes/mcp");
    assert_eq!(metadata["authorization_servers"], json!(["https://id.example"]));
}
