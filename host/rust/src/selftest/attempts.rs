//! Makes calls, and checks the result of each.

use std::io;

use rustix::io::Errno;
use serde_json::Value;

use super::fixture::Fixture;
use super::plant::Step;
use super::report::{Failure, Report, Row, Skipped};
use super::subject::{Answer, Call, Subject};
use super::suite::{Attempt, Family, Needs, Probe, Probes, Sequence, SequencedCall};
use super::witness::Witness;

/// Message of an answer that reports a defect of the component instead of a result.
pub(super) const TRAP: &str = "the component failed";
/// Error code of a call that waits for a person.
const APPROVAL_REQUIRED: &str = "approval-required";

/// A run of the suite.
pub(super) struct Attempts<'r, T> {
    subject: &'r mut dyn Subject,
    fixture: Fixture,
    observe: T,
    pub(super) report: Report,
    row: Row,
    /// State of the files when the tree was created.
    outside: Witness,
    inside: Witness,
    /// Whether the tree may have changed since it was created.
    used: bool,
    /// Whether the workspace itself contains a text that no answer may contain.
    has_canary: bool,
}

impl<'r, T: FnMut(&Row)> Attempts<'r, T> {
    pub(super) fn new(subject: &'r mut dyn Subject, fixture: Fixture, observe: T) -> Self {
        Self {
            subject,
            fixture,
            observe,
            report: Report::default(),
            row: Row::default(),
            outside: Witness::default(),
            inside: Witness::default(),
            used: true,
            has_canary: false,
        }
    }

    /// Tries all attacks of a family.
    pub(super) fn family(&mut self, family: &Family, probes: &Probes) -> io::Result<()> {
        if let Some(cause) = self.lacks(family.needs) {
            self.report.skipped.push(Skipped { family: family.family.clone(), cause });
            return Ok(());
        }
        match self.begin(&family.family, &family.tree) {
            Err(cause) if family.needs == Some(Needs::Devices) && is_forbidden(&cause) => {
                let cause = format!("devices cannot be made here: {cause}");
                self.report.skipped.push(Skipped { family: family.family.clone(), cause });
                return self.fixture.surround();
            }
            other => other?,
        }
        for attempt in &family.attempts {
            self.paths(family, attempt, probes)?;
        }
        for sequence in &family.sequences {
            self.sequence(&family.tree, sequence)?;
        }
        self.end(&family.tree)
    }

    /// Returns the reason why a requirement is not met, if it is not.
    fn lacks(&self, needs: Option<Needs>) -> Option<String> {
        if !self.subject.has_disk() {
            return needs.map(|_| "there is no disk below it".to_owned());
        }
        let has_links = self.subject.has_absolute_links();
        let is_met = match needs? {
            Needs::Disk | Needs::Devices => true,
            Needs::AbsoluteLinks => has_links,
            Needs::NoAbsoluteLinks => !has_links,
        };
        (!is_met).then(|| "its runtime reports absolute targets of links, or none".to_owned())
    }

    /// Fills in the names in a text.
    pub(super) fn fill(&self, text: &str) -> String {
        self.fixture.fill(text)
    }

    /// Begins a row, with a new tree.
    pub(super) fn begin(&mut self, family: &str, tree: &[Step]) -> io::Result<()> {
        self.row = Row { family: family.to_owned(), ..Row::default() };
        self.has_canary = tree.iter().any(Step::has_canary);
        self.make_anew(tree)
    }

    /// Ends the row.
    pub(super) fn end(&mut self, tree: &[Step]) -> io::Result<()> {
        self.find_stored_canaries("all of it")?;
        self.make_anew(tree)?;
        (self.observe)(&self.row);
        self.report.rows.push(std::mem::take(&mut self.row));
        Ok(())
    }

    /// Tries each path with each of its probes.
    fn paths(&mut self, family: &Family, attempt: &Attempt, probes: &Probes) -> io::Result<()> {
        if self.lacks(attempt.needs).is_some() {
            return Ok(());
        }
        let probes = attempt.probes(probes)?;
        for path in &attempt.paths {
            let path = self.fixture.fill(&path.text());
            for (probe, code) in &probes {
                self.probe(&family.tree, &attempt.why, probe, &path, code)?;
            }
        }
        Ok(())
    }

    fn probe(&mut self, tree: &[Step], why: &str, probe: &Probe, path: &str, code: &str) -> io::Result<()> {
        let arguments = with_path(&probe.arguments, path);
        let call = Call { dialect: &probe.dialect, tool: &probe.tool, arguments: &arguments };
        self.attempt(tree, why, &call, Some(code), probe.code_at.as_deref()).map(drop)
    }

    fn sequence(&mut self, tree: &[Step], sequence: &Sequence) -> io::Result<()> {
        self.make_anew(tree)?;
        let mut results = Vec::new();
        for SequencedCall { tool, arguments, dialect, code } in &sequence.calls {
            let arguments = with_results(arguments, &results, &self.fixture);
            let call = Call { dialect, tool, arguments: &arguments };
            let answer = self.evaluate(&sequence.why, &call, Some(code), None)?;
            results.push(answer.result);
        }
        self.find_stored_canaries(&sequence.why)?;
        self.used = true;
        Ok(())
    }

    /// Makes one call, and creates the tree again if the call changed it.
    pub(super) fn attempt(
        &mut self,
        tree: &[Step],
        why: &str,
        call: &Call<'_>,
        code: Option<&str>,
        code_at: Option<&str>,
    ) -> io::Result<Answer> {
        if self.used {
            self.make_anew(tree)?;
        }
        let answer = self.evaluate(why, call, code, code_at)?;
        let inside = self.fixture.record_inside()?;
        let changed = inside.changed_since(&self.inside).map(|path| path.display().to_string());
        if let (Some(path), Some(_)) = (&changed, &answer.code) {
            self.fail(why, call, &answer, format!("it was refused, and changed `{path}`"), false);
        }
        if changed.is_some() || answer.changed {
            self.find_stored_canaries(why)?;
            self.used = true;
        }
        Ok(answer)
    }

    /// Makes one call, and checks the assertions that hold for every call.
    fn evaluate(
        &mut self,
        why: &str,
        call: &Call<'_>,
        code: Option<&str>,
        code_at: Option<&str>,
    ) -> io::Result<Answer> {
        let answer = self.subject.call(call);
        let got = answer.code.clone().or_else(|| Some(answer.result.pointer(code_at?)?.as_str()?.to_owned()));
        self.row.attempts += 1;
        match got {
            Some(_) => self.row.refused += 1,
            None => self.row.allowed += 1,
        }
        if let Some(leak) = self.fixture.canary.in_text(&answer.all) {
            let what = format!("it revealed data outside of the roots: {leak}");
            self.fail(why, call, &answer, what, true);
        }
        let outside = self.fixture.record_outside()?;
        if let Some(path) = outside.changed_since(&self.outside) {
            let what = format!("it changed `{}`, which is outside", path.display());
            self.fail(why, call, &answer, what, true);
            self.fixture.surround()?;
            self.outside = self.fixture.record_outside()?;
            self.used = true;
        }
        if answer.all.contains(TRAP) {
            self.fail(why, call, &answer, "the component was stopped".to_owned(), false);
        }
        let got = got.as_deref().unwrap_or("ok");
        let may_wait = got == APPROVAL_REQUIRED && !self.subject.approves();
        if let Some(code) = code.filter(|code| *code != got && !may_wait) {
            self.fail(why, call, &answer, format!("it ended with `{got}`, not `{code}`"), false);
        }
        Ok(answer)
    }

    /// Checks that no backup and no file of the workspace contains a canary.
    fn find_stored_canaries(&mut self, why: &str) -> io::Result<()> {
        let stored = self.fixture.stored_canary()?.filter(|_| !self.has_canary);
        let copied = if self.has_canary { None } else { self.fixture.copied_canary()? };
        for path in stored.into_iter().chain(copied) {
            let what = format!("`{}` now holds what was outside", path.display());
            self.report.fail(&mut self.row, Failure::new(why, String::new(), what), true);
            self.used = true;
        }
        Ok(())
    }

    fn make_anew(&mut self, tree: &[Step]) -> io::Result<()> {
        self.fixture.reset()?;
        tree.iter().try_for_each(|step| step.plant(&self.fixture))?;
        (self.outside, self.inside) = (self.fixture.record_outside()?, self.fixture.record_inside()?);
        self.used = false;
        self.subject.open(&self.fixture).map_err(io::Error::other)
    }

    fn fail(&mut self, why: &str, call: &Call<'_>, answer: &Answer, what: String, is_escape: bool) {
        let Call { dialect, tool, arguments } = call;
        let answer: String = answer.all.chars().take(300).collect();
        let failure = Failure::new(why, format!("{dialect}: {tool} {arguments}"), format!("{what} ({answer})"));
        self.report.fail(&mut self.row, failure, is_escape);
    }
}

fn is_forbidden(cause: &io::Error) -> bool {
    matches!(Errno::from_io_error(cause), Some(Errno::PERM | Errno::ACCESS))
}

/// Returns the arguments with the path filled in.
fn with_path(arguments: &Value, path: &str) -> Value {
    map_texts(arguments, &|text| Value::String(text.replace("{path}", path)))
}

/// Returns the arguments with names filled in. A text `$0.plan` is replaced by that member of the first result.
fn with_results(arguments: &Value, results: &[Value], fixture: &Fixture) -> Value {
    map_texts(arguments, &|text| {
        let member = || {
            let (index, path) = text.strip_prefix('$')?.split_once('.')?;
            results.get(index.parse::<usize>().ok()?)?.pointer(&format!("/{}", path.replace('.', "/"))).cloned()
        };
        member().unwrap_or_else(|| Value::String(fixture.fill(text)))
    })
}

fn map_texts(value: &Value, map: &dyn Fn(&str) -> Value) -> Value {
    match value {
        Value::String(text) => map(text),
        Value::Array(items) => items.iter().map(|item| map_texts(item, map)).collect(),
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), map_texts(value, map))).collect(),
        other => other.clone(),
    }
}
