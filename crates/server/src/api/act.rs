//! What people do: start, stop, resume, retry, guide, answer.
//!
//! Nothing is decided here. Each action goes to the program's own (`Host`), which is what the command line calls, and ends up in the journal
//! with the token's name.

use super::body::Given;
use super::query::OfRun;
use super::{App, Shared, at};
use crate::access::{Role, Session};
use crate::error::{Answer, ApiError, ErrorBody};
use crate::following::waiting;
use crate::host::{Answering, Given as GivenAnswer, Launch, StartOptions};
use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use convoke_model::{Digest, RunId, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::Mutex;
use utoipa::ToSchema;

/// Starts that carried a key, the newest last.
#[derive(Default)]
pub(crate) struct Starts(Mutex<VecDeque<(String, Digest, RunId)>>);

/// Keys that are remembered.
const MOST_STARTS: usize = 1_000;

/// A run to be started.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartBody {
    /// One of the files that may be started.
    file: String,
    /// What the workflow is given.
    #[serde(default)]
    #[schema(value_type = Object)]
    inputs: Map<String, Value>,
    #[serde(default)]
    options: StartOptions,
}

/// A run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunName {
    run: String,
}

/// Starts a run as a process of its own, which outlives the server
///
/// With a header `Idempotency-Key`, a call that is repeated starts no second run.
#[utoipa::path(post, path = "/runs", tag = "runs", request_body = StartBody,
    params(("idempotency-key" = Option<String>, Header, description = "the same start has the same key")), responses(
    (status = 202, body = RunName), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody), (status = 415, body = ErrorBody),
    (status = 422, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn start(
    app: Shared,
    session: Session,
    headers: HeaderMap,
    Given(body): Given<StartBody>,
) -> Result<(StatusCode, Json<RunName>), ApiError> {
    session.may(if body.options.skip_gates { Role::Approve } else { Role::Operate })?;
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok());
    let run = match key {
        None => launch(&app, of(body, &session)).await?,
        Some(key) => once(&app, format!("{}/{key}", session.name), body, &session).await?,
    };
    Ok((StatusCode::ACCEPTED, Json(RunName { run: run.0.to_string() })))
}

fn of(body: StartBody, session: &Session) -> Launch {
    Launch::Run { file: body.file, inputs: body.inputs, options: body.options, by: session.author() }
}

/// Starts of one key wait for each other, so that the second finds the first.
async fn once(app: &Arc<App>, key: String, body: StartBody, session: &Session) -> Result<RunId, ApiError> {
    let digest = Digest::of(serde_json::to_string(&body).unwrap_or_default().as_bytes());
    let mut starts = app.starts.0.lock().await;
    if let Some((_, before, run)) = starts.iter().find(|(known, ..)| *known == key) {
        return match *before == digest {
            true => Ok(run.clone()),
            false => {
                Err(ApiError::new(StatusCode::CONFLICT, "key_reused", "the key was used for another start"))
            }
        };
    }
    let run = launch(app, of(body, session)).await?;
    starts.push_back((key, digest, run.clone()));
    if starts.len() > MOST_STARTS {
        starts.pop_front();
    }
    Ok(run)
}

async fn launch(app: &Arc<App>, launch: Launch) -> Result<RunId, ApiError> {
    let hub = app.hub.clone();
    waiting(move || Ok(hub.host.launch(&launch)?)).await
}

/// How a run is stopped.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StopBody {
    /// At once, without letting attempts finish.
    now: bool,
}

/// What was done, in words.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DoneBody {
    done: String,
}

/// Asks a run to stop
#[utoipa::path(post, path = "/runs/{run}/stop", tag = "runs", params(("run" = String, Path)), request_body = StopBody, responses(
    (status = 202, body = DoneBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 413, body = ErrorBody), (status = 415, body = ErrorBody)))]
pub(crate) async fn stop(
    app: Shared,
    session: Session,
    OfRun(run): OfRun,
    Given(body): Given<StopBody>,
) -> Result<(StatusCode, Json<DoneBody>), ApiError> {
    session.may(Role::Operate)?;
    let hub = app.hub.clone();
    let done = waiting(move || Ok(hub.host.stop(&run, body.now, &session.author())?)).await?;
    Ok((StatusCode::ACCEPTED, Json(DoneBody { done })))
}

/// Goes on with a run, as a process of its own
#[utoipa::path(post, path = "/runs/{run}/resume", tag = "runs", params(("run" = String, Path)), request_body = StartOptions, responses(
    (status = 202, body = RunName), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody), (status = 415, body = ErrorBody),
    (status = 422, body = ErrorBody)))]
pub(crate) async fn resume(
    app: Shared,
    session: Session,
    OfRun(run): OfRun,
    Given(options): Given<StartOptions>,
) -> Result<(StatusCode, Json<RunName>), ApiError> {
    session.may(if options.skip_gates { Role::Approve } else { Role::Operate })?;
    let run = launch(&app, Launch::Resume { run, options }).await?;
    Ok((StatusCode::ACCEPTED, Json(RunName { run: run.0.to_string() })))
}

/// Which task gets another try.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RetryBody {
    task: String,
    /// Scripts and tools that ran already may run again.
    #[serde(default)]
    repeat_effects: bool,
}

/// What gets another try.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RetriedBody {
    run: String,
    /// What begins anew, and what followed from it does too; nothing else that is finished.
    retried: Vec<String>,
}

/// Does a task again, with what followed from it
///
/// Refused with what it did to the world (`POST` again with `repeat_effects` to allow it), and with the names of what failed besides.
#[utoipa::path(post, path = "/runs/{run}/retry", tag = "runs", params(("run" = String, Path)), request_body = RetryBody, responses(
    (status = 202, body = RetriedBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody), (status = 415, body = ErrorBody),
    (status = 422, body = ErrorBody)))]
pub(crate) async fn retry(
    app: Shared,
    session: Session,
    OfRun(run): OfRun,
    Given(body): Given<RetryBody>,
) -> Result<(StatusCode, Json<RetriedBody>), ApiError> {
    session.may(if body.repeat_effects { Role::Approve } else { Role::Operate })?;
    let task = TaskId(body.task.as_str().into());
    let asked = task.clone();
    at::look(&app, &run, None, move |_, shown| {
        let refuse = |words: String| {
            Err(ApiError::new(StatusCode::CONFLICT, "not_retryable", words)
                .hint("`convoke fork RUN --at TASK` begins a new run before a task"))
        };
        match shown.picture.table.get(&asked) {
            _ if shown.live => {
                refuse("a process drives the run; it retries by the rules of its file".to_owned())
            }
            Some((_, row)) if row.standing.is_end() => Ok(()),
            _ => refuse(format!("task `{asked}` has not ended")),
        }
    })
    .await?;
    let retried = vec![task.to_string()];
    let run = launch(&app, Launch::Retry { run, task, repeat_effects: body.repeat_effects }).await?;
    Ok((StatusCode::ACCEPTED, Json(RetriedBody { run: run.0.to_string(), retried })))
}

/// What is said to a run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GuideBody {
    text: String,
    /// The task whose agent hears it before its next turn; without one, every later prompt of the run's goals has it.
    #[serde(default)]
    task: Option<String>,
}

/// Says something to a run: to the agent of one task, or to its goals
#[utoipa::path(post, path = "/runs/{run}/guide", tag = "runs", params(("run" = String, Path)), request_body = GuideBody, responses(
    (status = 202, body = DoneBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody), (status = 415, body = ErrorBody),
    (status = 422, body = ErrorBody)))]
pub(crate) async fn guide(
    app: Shared,
    session: Session,
    OfRun(run): OfRun,
    Given(body): Given<GuideBody>,
) -> Result<(StatusCode, Json<DoneBody>), ApiError> {
    session.may(Role::Operate)?;
    let hub = app.hub.clone();
    let task = body.task.as_deref().map(|task| TaskId(task.into()));
    let done = match &task {
        None => format!("said to run {}", run.0),
        Some(task) => format!("said to `{task}` of run {}", run.0),
    };
    waiting(move || Ok(hub.host.guide(&run, task.as_ref(), &body.text, &session.author())?)).await?;
    Ok((StatusCode::ACCEPTED, Json(DoneBody { done })))
}

/// An answer to a question.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerBody {
    /// `TASK~NUMBER`
    question: String,
    /// The hash of what was shown.
    shown: String,
    #[schema(value_type = GivenAnswer)]
    answer: Word,
}

/// An answer: whole, or one word for it.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Word {
    One(String),
    Whole(GivenAnswer),
}

/// What became of an answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AnsweredBody {
    question: String,
}

/// Answers a question, bound to what was shown
#[utoipa::path(post, path = "/runs/{run}/answer", tag = "inbox", params(("run" = String, Path)), request_body = AnswerBody, responses(
    (status = 200, body = AnsweredBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody), (status = 415, body = ErrorBody),
    (status = 422, body = ErrorBody)))]
pub(crate) async fn answer(
    app: Shared,
    session: Session,
    OfRun(run): OfRun,
    Given(body): Given<AnswerBody>,
) -> Answer<AnsweredBody> {
    session.may(Role::Approve)?;
    let question = body.question.clone();
    hand_in(&app, run, body, session.name).await?;
    Ok(Json(AnsweredBody { question }))
}

async fn hand_in(app: &Arc<App>, run: RunId, body: AnswerBody, by: String) -> Result<(), ApiError> {
    let shown = Digest::parse(&body.shown)
        .ok_or_else(|| ApiError::bad_request("`shown` is not the hash that the question came with"))?;
    let given = match body.answer {
        Word::One(value) => GivenAnswer { values: vec![value], ..GivenAnswer::default() },
        Word::Whole(given) => given,
    };
    let hub = app.hub.clone();
    waiting(move || {
        let answering = Answering { run: &run, question: &body.question, shown, given: &given, by: &by };
        Ok(hub.host.answer(&answering)?)
    })
    .await
}

/// Answers to questions of any runs.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswersBody {
    answers: Vec<AnswerOf>,
}

/// An answer to a question of a run.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswerOf {
    run: String,
    question: String,
    shown: String,
    #[schema(value_type = GivenAnswer)]
    answer: Word,
}

/// What became of each answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AnswersGiven {
    results: Vec<AnswerResult>,
}

/// What became of one answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AnswerResult {
    run: String,
    question: String,
    ok: bool,
    /// Why it was not taken: the code of the error.
    code: Option<String>,
    message: Option<String>,
}

/// The most answers of one call.
const MOST_ANSWERS: usize = 500;

/// Answers several questions; each is taken or refused by itself
#[utoipa::path(post, path = "/answers", tag = "inbox", request_body = AnswersBody, responses(
    (status = 200, body = AnswersGiven), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 413, body = ErrorBody), (status = 415, body = ErrorBody)))]
pub(crate) async fn answers(
    app: Shared,
    session: Session,
    Given(body): Given<AnswersBody>,
) -> Answer<AnswersGiven> {
    session.may(Role::Approve)?;
    if body.answers.len() > MOST_ANSWERS {
        return Err(ApiError::bad_request(format!("at most {MOST_ANSWERS} answers at once")));
    }
    let mut results = Vec::with_capacity(body.answers.len());
    for AnswerOf { run, question, shown, answer } in body.answers {
        let name = RunId(run.as_str().into());
        let one = AnswerBody { question: question.clone(), shown, answer };
        let refused = hand_in(&app, name, one, session.name.clone()).await.err();
        let (code, message) = match &refused {
            Some(error) => (Some(error.code().to_owned()), Some(error.message().to_owned())),
            None => (None, None),
        };
        results.push(AnswerResult { run, question, ok: refused.is_none(), code, message });
    }
    Ok(Json(AnswersGiven { results }))
}
