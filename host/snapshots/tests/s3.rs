//! Snapshots in a store with the interface of S3: the server of the Python package `moto`.
#![cfg(feature = "s3")]
#![allow(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use paddock_snapshots::{Destination, Error, Limits, Location, Options, Store, collect, create, list, remove, stage};

/// A running server, with the bucket `bucket`. Dropping it ends the server.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    /// Starts the server; `None` if Python has no `moto`.
    fn start() -> Option<Self> {
        const SERVER: &str = "\
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
server.start()
print(*server.get_host_and_port(), sep=':', flush=True)
import sys
sys.stdin.read()
";
        let command = std::env::var("PADDOCK_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let mut server = Command::new(command);
        let server = server.args(["-c", SERVER]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = server.spawn().ok()?;
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        if address.is_empty() {
            process.wait().unwrap();
            return None;
        }
        let server = Self { process, address: address.trim().to_owned() };
        server.request("PUT /bucket HTTP/1.1");
        Some(server)
    }

    fn request(&self, line: &str) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = &self.address;
        write!(stream, "{line}\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The settings of the store are environment variables, which a process gets from the one that starts it.
#[test]
fn snapshots_are_stored_and_restored() {
    let Some(server) = Server::start() else {
        eprintln!("skipped: python3 cannot import `moto.server`; `pip install 'moto[server]'` installs it");
        return;
    };
    let tests = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "with_a_server", "--nocapture"])
        .env("AWS_ENDPOINT_URL", format!("http://{}", server.address))
        .envs([("AWS_ALLOW_HTTP", "true"), ("AWS_REGION", "us-east-1")])
        .envs([("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")])
        .status();
    assert!(tests.unwrap().success());
}

/// A server answers that it does not accept a session token, and repeats the token, as S3 does.
#[test]
fn no_message_has_credentials() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 16 << 10]);
            let body =
                format!("<Error><Code>InvalidToken</Code><Token-0>{TOKEN}</Token-0>\x1b[2J{}", "x".repeat(100_000));
            let length = body.len();
            let _ =
                write!(stream, "HTTP/1.1 403 Forbidden\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
        }
    });
    let tests = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "with_a_server_that_refuses", "--nocapture"])
        .env("AWS_ENDPOINT_URL", format!("http://{address}"))
        .envs([("AWS_ALLOW_HTTP", "true"), ("AWS_REGION", "us-east-1")])
        .envs([("AWS_ACCESS_KEY_ID", KEY), ("AWS_SECRET_ACCESS_KEY", SECRET), ("AWS_SESSION_TOKEN", TOKEN)])
        .status();
    assert!(tests.unwrap().success());
}

const KEY: &str = "AKIAEXAMPLEEXAMPLE";
const SECRET: &str = "secret-of-the-test";
const TOKEN: &str = "token-of-the-test";

#[tokio::test]
#[ignore = "`no_message_has_credentials` runs it with a server"]
async fn with_a_server_that_refuses() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("a"), "a").unwrap();
    let store = Store::open(&"s3://bucket/prefix".parse().unwrap(), true).unwrap();
    let destination = Destination::open(&home.path().join("restored")).unwrap();
    let errors = [
        create(&store, Some("first"), trees(home.path()), Options::default()).await.unwrap_err(),
        list(&store).await.unwrap_err(),
        collect(&store).await.unwrap_err(),
        remove(&store, "first").await.unwrap_err(),
        stage(&store, "first", destination, &Limits::default(), None).await.unwrap_err(),
    ];
    for error in errors {
        let message = format!("{error}: {}\n{error:?} {store:?}", std::error::Error::source(&error).unwrap());
        assert!(message.len() < 5_000 && !message.contains('\x1b'), "{message}");
        assert!([KEY, SECRET, TOKEN].iter().all(|credential| !message.contains(credential)), "{message}");
    }
    assert!(!home.path().join("restored").exists());
}

fn trees(path: &Path) -> Vec<(String, Dir)> {
    vec![("workspace".to_owned(), Dir::open_ambient_dir(path, ambient_authority()).unwrap())]
}

#[tokio::test]
#[ignore = "`snapshots_are_stored_and_restored` runs it with a server"]
async fn with_a_server() {
    let home = tempfile::tempdir().unwrap();
    let tree = home.path().join("tree");
    std::fs::create_dir_all(tree.join("d/empty")).unwrap();
    (0..50).for_each(|number| std::fs::write(tree.join(format!("d/f{number}")), format!("content {number}")).unwrap());
    // More than two parts.
    let large: Vec<u8> = (0..5_000_000_u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(tree.join("large"), &large).unwrap();
    let location: Location = "s3://bucket/some/prefix".parse().unwrap();
    let store = Store::open(&location, true).unwrap();
    let (_, first) = create(&store, Some("first"), trees(&tree), Options::default()).await.unwrap();
    assert_eq!((first.files, first.objects_stored), (51, 51));
    (0..10).for_each(|number| std::fs::write(tree.join(format!("d/f{number}")), "changed").unwrap());
    let options = Options { cache: first.cache, ..Options::default() };
    let (_, second) = create(&store, Some("second"), trees(&tree), options).await.unwrap();
    // Ten files of one content.
    assert_eq!((second.objects_stored, second.bytes_stored), (1, 7));
    let again = create(&store, Some("second"), trees(&tree), Options::default()).await.unwrap_err();
    assert!(matches!(again, Error::Exists { .. }), "{again}");
    let names: Vec<_> = list(&store).await.unwrap().into_iter().map(|listed| listed.name).collect();
    assert_eq!(names, ["first", "second"]);
    remove(&store, "first").await.unwrap();
    let collected = collect(&store).await.unwrap();
    assert_eq!((collected.objects, collected.retained), (10, 42));
    let destination = Destination::open(&home.path().join("restored")).unwrap();
    let mut staged = stage(&store, "second", destination, &Limits::default(), Some(second.digest)).await.unwrap();
    let (restored, _) = staged.commit("workspace").unwrap();
    assert_eq!(std::fs::read(restored.join("large")).unwrap(), large);
    assert_eq!(std::fs::read_to_string(restored.join("d/f3")).unwrap(), "changed");
    assert_eq!(std::fs::read_to_string(restored.join("d/f30")).unwrap(), "content 30");
    assert!(restored.join("d/empty").is_dir());
    // A bucket that does not exist.
    let other = Store::open(&"s3://none/x".parse().unwrap(), true).unwrap();
    let error = create(&other, Some("first"), trees(&tree), Options::default()).await.unwrap_err();
    assert!(matches!(error, Error::Store { .. }), "{error}");
    let destination = Destination::open(&home.path().join("other")).unwrap();
    let error = stage(&store, "none", destination, &Limits::default(), None).await.unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error}");
    assert!(!home.path().join("other").exists());
}
