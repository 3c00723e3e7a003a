//! Roots: the directories of a workspace.

use std::cell::OnceCell;
use std::rc::Rc;

use paddock_vfs::Dir;

use crate::access_rules::AccessRules;
use crate::ignore_rules::AgentIgnore;

/// A root.
pub struct Root {
    /// Prefix of the root's paths in results: empty for the workspace, otherwise the guest path.
    pub label: String,
    /// Absolute names of the root. Paths below them are mapped into it.
    pub names: Vec<String>,
    /// Absolute path on the host, if known.
    pub host: Option<String>,
    /// Identifier that differs from that of other directories with this label at other times, if the host provides one.
    pub id: Option<String>,
    /// The directory.
    pub dir: Dir,
    /// Whether the root is writable.
    pub writable: bool,
    /// Access rules of the policy in this root.
    pub access_rules: Option<Rc<AccessRules>>,
    /// Index of the outermost root that contains this root, and the path from there.
    pub within: Option<(usize, String)>,
    pub(crate) agent_ignore: OnceCell<AgentIgnore>,
}

impl Root {
    /// Returns the absolute names of the directory on the host, or its guest path if the host states none.
    pub fn host_names(&self) -> &[String] {
        // The first name is the guest path.
        let first = usize::from(self.host.is_some());
        self.names.get(first..).unwrap_or_default()
    }

    /// Returns the path `below` its top as results render it.
    pub fn rendered_path(&self, below: &str) -> String {
        match (self.label.is_empty(), below.is_empty()) {
            (true, true) => ".".to_owned(),
            (true, false) => below.to_owned(),
            (false, true) => self.label.clone(),
            (false, false) => format!("{}/{below}", self.label.trim_end_matches('/')),
        }
    }
}
