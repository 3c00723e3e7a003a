//! Has the person at the client asked about a call that needs approval: by a
//! request of ours in the revisions that start with `initialize`, and by a
//! result that asks for input in the stateless one.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{
    BooleanSchema, CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, InputRequest, InputRequiredResult,
};
use rmcp::service::RequestContext;
use tokio::runtime::Handle;

use super::is_stateless;
use crate::terminal;
use crate::types::Plan;
use crate::{Approver, Decision};

/// How long a person may think.
const PATIENCE: Duration = Duration::from_secs(600);
/// Maximum number of questions that wait for their call to be repeated.
const MAX_WAITING: usize = 100;
/// What the one question of a result is called.
const QUESTION: &str = "approval";
/// What a form's one field is called.
const FIELD: &str = "approve";

/// Questions that went out with a result, and wait for the call to be made again.
#[derive(Default)]
pub(super) struct Questions(Mutex<HashMap<String, (Plan, Instant)>>);

impl Questions {
    /// Who is asked about a call, where the client has somebody.
    pub(super) fn approver(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<Approver> {
        if !can_ask(context) {
            return None;
        }
        if !is_stateless(context) {
            let (peer, cancelled, runtime) = (context.peer.clone(), context.ct.clone(), Handle::current());
            return Some(Approver::new(move |plan| {
                let Some(form) = form(plan) else { return Decision::Later };
                runtime.block_on(async {
                    tokio::select! {
                        said = peer.create_elicitation_with_timeout(form, Some(PATIENCE)) => match said {
                            Ok(said) => decision(&said),
                            Err(cause) => Decision::Refuse(cause.to_string()),
                        },
                        // A cancelled call would hold its permit for as long as nobody answers.
                        () = cancelled.cancelled() => Decision::Refuse("the call was cancelled".to_owned()),
                    }
                })
            }));
        }
        let answered = request.request_state.as_ref().and_then(|state| self.take(state));
        let said = request.input_responses.as_ref().and_then(|responses| responses.get(QUESTION)).cloned();
        let said = said.and_then(|said| serde_json::from_value::<ElicitResult>(said).ok());
        Some(Approver::new(move |plan| match (&answered, &said) {
            // An answer to another question is none to this one.
            (Some(asked), Some(said)) if asked.digest == plan.digest => decision(said),
            _ => Decision::Later,
        }))
    }

    /// The result that has a person asked, where the client can.
    pub(super) fn ask(&self, plan: Plan, context: &RequestContext<RoleServer>) -> Option<InputRequiredResult> {
        if !can_ask(context) || !is_stateless(context) {
            return None;
        }
        let question = InputRequest::Elicitation(ElicitRequest::new(form(&plan)?));
        let state = format!("{:032x}", random()?);
        let now = Instant::now();
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|_, (_, until)| *until > now);
        // The call of a question that is removed leads to a new question.
        if waiting.len() >= MAX_WAITING
            && let Some(oldest) = waiting.iter().min_by_key(|(_, (_, until))| *until).map(|(state, _)| state.clone())
        {
            waiting.remove(&oldest);
        }
        waiting.insert(state.clone(), (plan, now + PATIENCE));
        Some(InputRequiredResult::new(Some(BTreeMap::from([(QUESTION.to_owned(), question)])), Some(state)))
    }

    /// The plan that was asked about, once.
    fn take(&self, state: &str) -> Option<Plan> {
        let (plan, until) = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(state)?;
        (until > Instant::now()).then_some(plan)
    }
}

fn random() -> Option<u128> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(u128::from_le_bytes(bytes))
}

fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|client| client.elicitation.is_some())
}

fn form(plan: &Plan) -> Option<ElicitRequestParams> {
    let field = |schema: BooleanSchema| schema.title("Do this").description("Nothing is changed otherwise");
    Some(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: format!("A tool call needs your approval:\n\n{}", terminal::render_plan(&plan.summary)),
        requested_schema: ElicitationSchema::builder().required_bool_property(FIELD, field).build().ok()?,
    })
}

fn decision(said: &ElicitResult) -> Decision {
    let approves = said.content.as_ref().and_then(|content| content.get(FIELD)?.as_bool()).unwrap_or(false);
    match said.action {
        ElicitationAction::Accept if approves => Decision::Approve,
        _ => Decision::Refuse(String::new()),
    }
}
