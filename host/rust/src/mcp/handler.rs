//! Handler of requests. Each tool call is a call of the workspace on its own thread.

use std::sync::Arc;
use std::time::Duration;

use paddock_protocol::clients::gives_model_json;
use paddock_protocol::server::{TOOLS_TTL_MS, instructions};
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, ErrorCode, Implementation, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProgressToken,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

use super::convert::{self, StructuredContent};
use super::elicitation::Questions;
use super::load::MAX_REQUESTS;
use super::log::Log;
use super::resources::{self, Files};
use super::roots::SessionWorkspace;
use super::subscriptions::{Polls, Subscriptions};
use crate::{Approver, CallOptions, Outcome, Progress, Workspace};

/// Time before the first progress report of a call, and interval between further ones.
const PATIENCE: Duration = Duration::from_millis(500);
const INTERVAL: Duration = Duration::from_millis(250);

pub(super) struct Handler {
    session: Arc<SessionWorkspace>,
    dialect: String,
    structured: StructuredContent,
    /// Whether answers have text alone for clients that give the model the JSON instead of it.
    is_text_for_models: bool,
    log: Log,
    shared: Shared,
    /// Whether the client may use files as resources.
    has_resources: bool,
    subscriptions: Subscriptions,
    /// Permits of running calls. A cancelled call is no longer in flight, but holds its permit until it has ended.
    running: Semaphore,
}

/// State of the clients of one workspace in one dialect. Clones share it. A client of the stateless revision may send
/// each request to another server, which has to know the questions of the others.
#[derive(Clone, Default)]
pub(crate) struct Shared {
    tools: Arc<OnceCell<Vec<Tool>>>,
    questions: Arc<Questions>,
    polls: Polls,
}

#[cfg(all(target_os = "linux", feature = "serve"))]
impl Shared {
    pub(crate) fn new(polls: Polls) -> Self {
        Self { polls, ..Self::default() }
    }
}

impl Handler {
    pub(super) fn new(
        session: SessionWorkspace,
        dialect: String,
        structured: StructuredContent,
        log: Log,
        shared: Shared,
    ) -> Self {
        let session = Arc::new(session);
        let subscriptions = Subscriptions::new(session.clone(), dialect.clone(), shared.polls.clone());
        let running = Semaphore::new(MAX_REQUESTS);
        let (is_text_for_models, has_resources) = (false, true);
        Self { session, dialect, structured, is_text_for_models, log, shared, has_resources, subscriptions, running }
    }

    /// Answers with text alone to clients that give the model the result as JSON instead of it.
    pub(super) fn with_text_for_models(mut self) -> Self {
        self.is_text_for_models = true;
        self
    }

    /// Returns how the answer to a request has the result as JSON.
    fn structured(&self, context: &RequestContext<RoleServer>) -> &StructuredContent {
        let is_for_model = || context.client_info().is_some_and(|client| gives_model_json(&client.name));
        if self.is_text_for_models && is_for_model() { &StructuredContent::None } else { &self.structured }
    }

    /// Offers only the tools to the client, and no files as resources.
    #[cfg(all(target_os = "linux", feature = "serve"))]
    pub(super) fn without_resources(mut self) -> Self {
        self.has_resources = false;
        self
    }

    /// Fails if the client may not use resources.
    fn check_resources(&self) -> Result<(), ErrorData> {
        let refusal = || ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "the client may use tools and no resources", None);
        self.has_resources.then_some(()).ok_or_else(refusal)
    }

    /// Waits until the request may run. Fails if the client cancels it before.
    async fn permit(&self, context: &RequestContext<RoleServer>) -> Result<SemaphorePermit<'_>, ErrorData> {
        let cancelled = || ErrorData::internal_error("the request was cancelled", None);
        tokio::select! {
            permit = self.running.acquire() => permit.map_err(|_| cancelled()),
            () = context.ct.cancelled() => Err(cancelled()),
        }
    }

    /// Returns the tools. They are described only once, because compiling the component takes a while if no cache has
    /// it.
    async fn tools(&self) -> Result<&[Tool], ErrorData> {
        let describe = async || {
            // The tools depend on the policy of the server's own workspace, which the client's roots do not change.
            let (workspace, dialect) = (self.session.own.clone(), self.dialect.clone());
            let described = tokio::task::spawn_blocking(move || describe(&workspace, &dialect)).await;
            let described = described.unwrap_or_else(|cause| Err(cause.to_string()));
            described.map_err(|cause| ErrorData::internal_error(cause, None))
        };
        self.shared.tools.get_or_try_init(describe).await.map(Vec::as_slice)
    }
}

fn describe(workspace: &Workspace, dialect: &str) -> Result<Vec<Tool>, String> {
    let tools = workspace.tools(dialect).map_err(|error| Outcome::from(error).text)?.into_iter();
    tools.map(convert::tool).collect::<Result<_, _>>().map_err(|cause| cause.to_string())
}

#[expect(deprecated, reason = "see `super::log`")]
fn capabilities(has_resources: bool) -> ServerCapabilities {
    let tools = ServerCapabilities::builder().enable_tools().enable_logging();
    if has_resources { tools.enable_resources().enable_resources_subscribe().build() } else { tools.build() }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(capabilities(self.has_resources))
            .with_server_info(Implementation::new("paddock", env!("CARGO_PKG_VERSION")).with_title("Paddock"))
            .with_instructions(instructions(&self.dialect))
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools = self.tools().await?.to_vec();
        if self.structured(&context).is_none() {
            // An answer has to have the JSON that a schema describes.
            tools.iter_mut().for_each(|tool| tool.output_schema = None);
        }
        let mut result = ListToolsResult::with_all_items(tools);
        result.ttl_ms = Some(TOOLS_TTL_MS);
        // Where the list depends on the client, no other client is behind the same stream.
        result.cache_scope = Some(CacheScope::Public);
        Ok(result)
    }

    #[expect(deprecated, reason = "see `super::log`")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.log.set(request.level, &context)
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.check_resources()?;
        let _permit = self.permit(&context).await?;
        let workspace = self.session.workspace(&self.dialect, &context).await;
        let files = Files { workspace, listener: super::listener(&context) };
        resources::list(&files, &self.dialect, page.and_then(|page| page.cursor)).await
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.check_resources()?;
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.check_resources()?;
        let _permit = self.permit(&context).await?;
        let workspace = self.session.workspace(&self.dialect, &context).await;
        let files = Files { workspace, listener: super::listener(&context) };
        tokio::select! {
            read = resources::read(&files, &self.dialect, &request.uri) => read.map(ReadResourceResponse::Complete),
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the request was cancelled", None)),
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.check_resources()?;
        let _permit = self.permit(&context).await?;
        self.subscriptions.add(request.uri, &context).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.has_resources.then(|| Subscriptions::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.subscriptions.listen(&context).await
    }

    async fn on_roots_list_changed(&self, _context: NotificationContext<RoleServer>) {
        self.session.changed();
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _permit = self.permit(&context).await?;
        if !self.tools().await?.iter().any(|tool| tool.name == request.name) {
            // The call fails without arguments, but event listeners and the audit log record it.
            let outcome = self.call(&request.name, "", None, &context).await;
            let hint = outcome.error.and_then(|error| error.hint).map(|hint| format!("; {hint}")).unwrap_or_default();
            return Err(ErrorData::invalid_params(format!("unknown tool: {}{hint}", request.name), None));
        }
        let approver = self.shared.questions.approver(&request, &context);
        let arguments = serde_json::Value::Object(request.arguments.unwrap_or_default()).to_string();
        let mut outcome = self.call(&request.name, &arguments, approver, &context).await;
        if let Some(question) = outcome.plan.take().and_then(|plan| self.shared.questions.elicit(plan, &context)) {
            return Ok(CallToolResponse::InputRequired(question));
        }
        let (structured, cancelled) = (self.structured(&context), context.ct.clone());
        Ok(CallToolResponse::Complete(convert::result(outcome, structured, move || cancelled.is_cancelled())))
    }
}

impl Handler {
    /// Makes the call, reports its progress, and cancels it if the client cancels the request.
    async fn call(
        &self,
        tool: &str,
        arguments: &str,
        approver: Option<Approver>,
        context: &RequestContext<RoleServer>,
    ) -> Outcome {
        let completion = self.log.expect(context);
        let id = completion.as_ref().map(|completion| completion.id.clone());
        let mut options = CallOptions::dialect(self.dialect.clone());
        (options.id, options.approver, options.listener) = (id, approver, super::listener(context));
        let (cancel, progress) = (options.cancel.clone(), options.progress.clone());
        let workspace = self.session.workspace(&self.dialect, context).await;
        let mut call = std::pin::pin!(workspace.call_async(tool, arguments, options));
        let reports = async {
            match context.meta.get_progress_token() {
                Some(token) => report(&context.peer, &token, &progress).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            outcome = &mut call => {
                if let Some(completion) = completion {
                    completion.tell(&context.peer).await;
                }
                return outcome;
            }
            () = context.ct.cancelled() => cancel.cancel(),
            () = reports => {}
        }
        // The guest ends at its next check of the cancel token; its result is discarded.
        call.await
    }
}

/// Reports the number of files opened so far whenever it has grown. Returns when the connection ends.
async fn report(peer: &Peer<RoleServer>, token: &ProgressToken, progress: &Progress) {
    let mut reported = 0;
    tokio::time::sleep(PATIENCE).await;
    loop {
        let opened = progress.opened();
        if opened > reported {
            reported = opened;
            let so_far = u32::try_from(opened).map_or(f64::MAX, f64::from);
            let note = ProgressNotificationParam::new(token.clone(), so_far)
                .with_message(format!("{opened} files and directories opened"));
            if peer.notify_progress(note).await.is_err() {
                return;
            }
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
