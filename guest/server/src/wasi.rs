//! The imports and exports of the component.

mod directories;
mod http;
mod tools;

use std::io::{stdin, stdout};

use paddock_protocol::http::{Config, Head, HttpServer, ReadBody, Response};
use wasip2::cli::environment::get_arguments;
use wasip2::http::types::{IncomingRequest, ResponseOutparam};

use crate::command;
use crate::guarded::Guarded;
use crate::settings::Settings;
use directories::Preopened;
use tools::Imported;

/// The component.
struct Component;

mod exports {
    use super::Component;
    wasip2::cli::command::export!(Component);
    wasip2::http::proxy::export!(Component);
}

impl wasip2::exports::cli::run::Guest for Component {
    fn run() -> Result<(), ()> {
        match run() {
            Ok(true) => Ok(()),
            Ok(false) => Err(()),
            Err(cause) => {
                eprintln!("paddock: {cause}");
                Err(())
            }
        }
    }
}

/// Runs the command that the arguments name. Returns whether every tool succeeded.
fn run() -> Result<bool, String> {
    let settings = settings()?;
    let arguments: Vec<String> = get_arguments().into_iter().skip(1).collect();
    let (tools, dialect) = (tools(&settings), &settings.http.dialect);
    command::run(&tools, dialect, &arguments, &mut stdin().lock(), &mut stdout().lock())
        .map_err(|error| error.to_string())
}

impl wasip2::exports::http::incoming_handler::Guest for Component {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        http::handle(request, out, answer);
    }
}

/// Answers a request of HTTP.
fn answer(head: &Head<'_>, read: ReadBody<'_>) -> Response {
    match settings() {
        Ok(settings) => respond(&settings.http, &tools(&settings), head, read),
        Err(cause) => {
            eprintln!("paddock: {cause}");
            Response::misconfigured()
        }
    }
}

fn respond(config: &Config, tools: &Guarded<Imported, Preopened>, head: &Head<'_>, read: ReadBody<'_>) -> Response {
    HttpServer::new(config, tools).answer(head, read)
}

fn settings() -> Result<Settings, String> {
    Settings::read(|name| std::env::var(name).ok())
}

fn tools(settings: &Settings) -> Guarded<Imported, Preopened> {
    Guarded::new(Imported, Preopened::new(settings.times))
}
