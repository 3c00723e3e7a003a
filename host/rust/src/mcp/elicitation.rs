//! Asks the person at the client to approve a call: by an elicitation request in the protocol revisions that start with
//! `initialize`, and by an `InputRequired` result in the stateless revision.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{
    BooleanSchema, CallToolRequestParams, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, InputRequest, InputRequiredResult, RequestId, ServerRequest,
};
use rmcp::service::{OriginatingRequestId, Peer, PeerRequestOptions, RequestContext};
use tokio::runtime::Handle;

use super::is_stateless;
use crate::terminal;
use crate::types::Plan;
use crate::{Approver, Decision};

/// Maximum time for a person's answer.
const PATIENCE: Duration = Duration::from_secs(600);
/// Maximum number of questions that wait for their call to be repeated.
const MAX_WAITING: usize = 100;
/// Key of the only question in a result.
const QUESTION: &str = "approval";
/// Name of the only field of a form.
const FIELD: &str = "approve";

/// Questions that were sent with a result and wait for the client to repeat the call.
#[derive(Default)]
pub(super) struct Questions(Mutex<HashMap<String, (Plan, Instant)>>);

impl Questions {
    /// Returns the approver for a call, or `None` if the client cannot ask a person.
    pub(super) fn approver(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<Approver> {
        if !can_elicit(context) {
            return None;
        }
        if !is_stateless(context) {
            let (peer, call, cancelled) = (context.peer.clone(), context.id.clone(), context.ct.clone());
            let runtime = Handle::current();
            return Some(Approver::new(move |plan| {
                let Some(form) = form(plan) else { return Decision::Later };
                runtime.block_on(async {
                    tokio::select! {
                        decision = ask(&peer, form, &call) => decision,
                        // Without this branch, a cancelled call would hold its permit until the person answers.
                        () = cancelled.cancelled() => Decision::Refuse("the call was cancelled".to_owned()),
                    }
                })
            }));
        }
        let answered = request.request_state.as_ref().and_then(|state| self.take(state));
        let response = request.input_responses.as_ref().and_then(|responses| responses.get(QUESTION)).cloned();
        let response = response.and_then(|response| serde_json::from_value::<ElicitResult>(response).ok());
        Some(Approver::new(move |plan| match (&answered, &response) {
            // The answer counts only for the plan that the person was asked about.
            (Some(question), Some(response)) if question.digest == plan.digest => decision(response),
            _ => Decision::Later,
        }))
    }

    /// Returns the result by which the client asks a person, or `None` if the client cannot do that in this way.
    pub(super) fn elicit(&self, plan: Plan, context: &RequestContext<RoleServer>) -> Option<InputRequiredResult> {
        if !can_elicit(context) || !is_stateless(context) {
            return None;
        }
        let question = InputRequest::Elicitation(ElicitRequest::new(form(&plan)?));
        let state = format!("{:032x}", random()?);
        let now = Instant::now();
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, (_, until)| *until > now);
        // If the client repeats the call of a removed question, the person is asked again.
        if waiting.len() >= MAX_WAITING
            && let Some(oldest) = waiting.iter().min_by_key(|(_, (_, until))| *until).map(|(state, _)| state.clone())
        {
            waiting.remove(&oldest);
        }
        waiting.insert(state.clone(), (plan, now + PATIENCE));
        Some(InputRequiredResult::new(Some(BTreeMap::from([(QUESTION.to_owned(), question)])), Some(state)))
    }

    /// Removes and returns the plan of a question, unless its time is over.
    fn take(&self, state: &str) -> Option<Plan> {
        let (plan, until) = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(state)?;
        (until > Instant::now()).then_some(plan)
    }
}

/// Asks on the stream of the call. The library knows the call only in the task of its handler, and would otherwise ask on
/// the stream of the session, which a client need not open.
async fn ask(peer: &Peer<RoleServer>, form: ElicitRequestParams, call: &RequestId) -> Decision {
    let mut question = ElicitRequest::new(form);
    question.extensions.insert(OriginatingRequestId(call.clone()));
    let options = PeerRequestOptions::with_timeout(PATIENCE);
    let response = match peer.send_request_with_option(ServerRequest::ElicitRequest(question), options).await {
        Ok(asked) => asked.await_response().await,
        Err(cause) => Err(cause),
    };
    match response {
        Ok(ClientResult::ElicitResult(response)) => decision(&response),
        Ok(_) => Decision::Refuse("the client answered something else than the question".to_owned()),
        Err(cause) => Decision::Refuse(cause.to_string()),
    }
}

fn random() -> Option<u128> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(u128::from_le_bytes(bytes))
}

fn can_elicit(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|client| client.elicitation.is_some())
}

fn form(plan: &Plan) -> Option<ElicitRequestParams> {
    let field = |schema: BooleanSchema| schema.title("Do this").description("Nothing is changed otherwise");
    Some(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: format!("A tool call needs your approval:\n\n{}", terminal::render_plan(plan)),
        requested_schema: ElicitationSchema::builder().required_bool_property(FIELD, field).build().ok()?,
    })
}

fn decision(response: &ElicitResult) -> Decision {
    let approves = response.content.as_ref().and_then(|content| content.get(FIELD)?.as_bool()).unwrap_or(false);
    match response.action {
        ElicitationAction::Accept if approves => Decision::Approve,
        _ => Decision::Refuse(String::new()),
    }
}
