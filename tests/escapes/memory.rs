//! A workspace in memory, as a subject of the suite.

use std::fs;
use std::path::Path;

use paddock::selftest::{Answer, Call, Fixture, Subject};
use paddock::{CallOptions, Decision, Outcome, Workspace};

#[derive(Default)]
pub struct Memory(Option<Workspace>);

impl Subject for Memory {
    fn open(&mut self, fixture: &Fixture) -> Result<(), String> {
        let workspace = Workspace::builder().approver(|_| Decision::Approve).build_memory();
        let workspace = workspace.map_err(|cause| cause.to_string())?;
        let archive = pack(fixture.root()).map_err(|cause| cause.to_string())?;
        workspace.load(&archive).map_err(|error| error.message)?;
        self.0 = Some(workspace);
        Ok(())
    }

    fn call(&mut self, call: &Call<'_>) -> Answer {
        let options = CallOptions::dialect(call.dialect);
        let outcome = self.0.as_ref().map(|it| it.call_with(call.tool, &call.arguments.to_string(), &options));
        outcome.unwrap_or_else(|| Outcome::invalid_argument("nothing is open")).into()
    }

    fn root(&self) -> Option<String> {
        Some("/workspace".to_owned())
    }

    fn has_disk(&self) -> bool {
        false
    }
}

/// Packs all entries of a directory, with unchanged links.
fn pack(root: &Path) -> std::io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    archive.follow_symlinks(false);
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => archive.append_dir_all(entry.file_name(), entry.path())?,
            false => archive.append_path_with_name(entry.path(), entry.file_name())?,
        }
    }
    archive.into_inner()
}
