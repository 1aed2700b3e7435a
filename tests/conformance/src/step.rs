//! One step of a case: what is sent, alone, in the background or from many connections at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::Barrier;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::answer::Answer;
use crate::case::{Case, Expect, HeaderText, Request, Step};
use crate::client::Server;
use crate::control::Control;
use crate::counts::Counts;
use crate::expect::{self, Context, Counted};
use crate::fill::Values;
use crate::message::Message;

/// The number of the alternative that an answer took, if there were any; or what differed.
type Done = Result<Option<usize>, String>;

/// A case that is being run.
pub(crate) struct Play<'a, C> {
    server: Server,
    control: &'a C,
    pub(crate) foreseen: Vec<&'static str>,
    /// The name under which the server counts.
    case: String,
    context: Context,
    background: HashMap<String, (Request, JoinHandle<Result<Answer, String>>)>,
}

impl<'a, C: Control> Play<'a, C> {
    pub(crate) fn new(case: &Case, server: Server, control: &'a C) -> Self {
        let values = Values::fresh();
        let case = values.fill(&format!("{}-${{uniq}}", case.id));
        let context = Context { values, named: HashMap::new() };
        Self { server, control, foreseen: Vec::new(), case, context, background: HashMap::new() }
    }

    /// Waits, sends, and holds what comes back against what is expected.
    pub(crate) async fn step(&mut self, step: &Step) -> Done {
        tokio::time::sleep(Duration::from_millis(step.wait_ms)).await;
        if let Some(name) = &step.join {
            let (request, task) =
                self.background.remove(name).ok_or_else(|| format!("no background step `{name}`"))?;
            let answer = task.await.map_err(|error| error.to_string())?;
            return self.judge(Some(name), &step.expect, &request, answer).await;
        }
        let Some(request) = &step.request else { return Err("the step does nothing".to_owned()) };
        if let Some(connections) = request.concurrent {
            return self.burst(step, request, connections).await;
        }
        let message = self.message(request)?;
        if let Some(after) = request.abort_after_ms {
            self.server.abort(&message, Duration::from_millis(after)).await?;
            return Ok(None);
        }
        if request.background {
            let server = self.server.clone();
            let sent = async move { server.send(&message).await };
            let name = step.name.clone().ok_or("a background step has a name")?;
            self.background.insert(name, (request.clone(), tokio::spawn(sent)));
            return Ok(None);
        }
        let forecast = self.control.foresee(&message).await;
        let answer = self.server.send(&message).await;
        if let (Some(forecast), Ok(answer)) = (forecast, &answer) {
            match forecast.holds(answer, self.control.attempt(&message).await) {
                Some(true) => self.foreseen.push(forecast.verdict),
                Some(false) => {
                    return Err(format!(
                        "{} {}: it was foreseen that {forecast:?}, but it got {answer}",
                        request.method, request.path
                    ));
                }
                None => {}
            }
        }
        self.judge(step.name.as_ref(), &step.expect, request, answer).await
    }

    async fn judge(
        &mut self,
        name: Option<&String>,
        expect: &Expect,
        request: &Request,
        answer: Result<Answer, String>,
    ) -> Done {
        let line = format!("{} {}", request.method, request.path);
        let answer = match answer {
            Ok(answer) => answer,
            Err(_) if request.may_fail => return Ok(None),
            Err(error) => return Err(format!("{line}: {error}")),
        };
        let (counted, counts) = self.counted(expect, request).await?;
        let checked = self.context.check(expect, &answer, counted);
        let checked = checked.map_err(|differences| {
            let differences = differences.join("\n- ");
            let counts = counts.map(|counts| format!("\n\n{counts}")).unwrap_or_default();
            format!("{line}\n- {differences}\nThe answer was {answer}{counts}")
        });
        if let Some(name) = name {
            self.context.named.insert(name.clone(), answer);
        }
        checked
    }

    /// Sends the same from many connections, all of them open before the first byte goes out.
    async fn burst(&mut self, step: &Step, request: &Request, connections: usize) -> Done {
        let barrier = Arc::new(Barrier::new(connections));
        let mut sending = Vec::new();
        for number in 0..connections {
            let message = message_with(&self.case, request, &self.context.values.of_connection(number))?;
            let (server, barrier) = (self.server.clone(), Arc::clone(&barrier));
            let stream = server.connect().await?;
            sending.push(tokio::spawn(async move {
                barrier.wait().await;
                server.send_on(stream, &message).await
            }));
        }
        let began = Instant::now();
        let sent = join_all(sending).await;
        let took = began.elapsed();
        let mut answers = Vec::new();
        let mut differences = expect::elapsed(&step.expect, took);
        for answer in sent {
            match answer.map_err(|error| error.to_string()).flatten() {
                Ok(answer) => answers.push(answer),
                Err(_) if request.may_fail => {}
                Err(error) => differences.push(error),
            }
        }
        let (counted, _) = self.counted(&step.expect, request).await?;
        differences.extend(expect::counts(&step.expect, counted));
        differences.extend(self.context.sort(&step.expect.outcomes, answers, counted));
        if differences.is_empty() {
            return Ok(None);
        }
        let line = format!("{} {} from {connections} connections", request.method, request.path);
        Err(format!("{line}\n- {}", differences.join("\n- ")))
    }

    /// Asks for the counters, where the step wants them.
    async fn counted(&self, expect: &Expect, request: &Request) -> Result<(Counted, Option<Counts>), String> {
        if !wants_counts(expect) {
            return Ok((Counted::default(), None));
        }
        let counts = Counts::of(&self.server, &self.case).await?;
        let path = self.context.values.fill(&request.path);
        let executed = counts.executed(&request.method, &path);
        let effects = counts.effects(&request.method, &path);
        Ok((Counted { executed, effects }, Some(counts)))
    }

    /// The request with the values of this run.
    pub(crate) fn message(&self, request: &Request) -> Result<Message, String> {
        message_with(&self.case, request, &self.context.values)
    }
}

fn message_with(case: &str, request: &Request, values: &Values) -> Result<Message, String> {
    let mut headers = vec![("X-Case".to_owned(), case.to_owned())];
    for (name, text) in &request.headers {
        let mut line = |value: String| headers.push((name.clone(), value));
        match text {
            HeaderText::Line(text) => line(values.fill(text)),
            HeaderText::Lines(lines) => lines.iter().for_each(|text| line(values.fill(text))),
            HeaderText::Long(text) => line(values.repeat(text)),
        }
    }
    Ok(Message {
        method: request.method.clone(),
        path: values.fill(&request.path),
        headers,
        body: request.body.as_ref().map(|body| values.body(body)).transpose()?,
        framing: request.framing,
    })
}

fn wants_counts(expect: &Expect) -> bool {
    expect.executed_count.is_some()
        || expect.effect_count.is_some()
        || expect.any_of.iter().any(wants_counts)
        || expect.outcomes.iter().any(|outcome| wants_counts(&outcome.expect))
}
