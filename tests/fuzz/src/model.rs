//! Sequences of operations, compared with a map of paths as the model: an operation has the same effect on both, or is
//! refused without effect.

use std::collections::BTreeMap;

use paddock_types::entry::Kind;
use serde_json::json;

use crate::fixture::Fixture;
use crate::tree::Tree;

/// Paths of the operations.
const PATHS: [&str; 12] = ["a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "e", "e/a", "e/f", "e/f/g", "e/f/g/h"];
const TEXTS: [&str; 4] = ["", "one\n", "two\ntwo\n", "one\ntwo\n"];
const OPERATIONS: usize = 64;

/// Paths with the content of files; `None` for directories.
type Model = BTreeMap<String, Option<String>>;

/// Runs operations, each encoded in three bytes: kind, path, argument.
pub fn fuzz(bytes: &[u8]) {
    let fixture = Fixture::new();
    let mut model = Model::new();
    for operation in bytes.chunks_exact(3).take(OPERATIONS) {
        let path = PATHS[usize::from(operation[1]) % PATHS.len()];
        let (other, text) =
            (PATHS[usize::from(operation[2]) % PATHS.len()], TEXTS[usize::from(operation[2]) % TEXTS.len()]);
        let (tool, arguments, expected) = match operation[0] % 7 {
            0 => ("write_file", json!({"path": path, "content": text}), write(&model, path, text)),
            1 => ("write_file", json!({"path": path, "content": text, "append": true}), append(&model, path, text)),
            2 => ("make_dir", json!({ "path": path }), make_dir(&model, path)),
            3 => ("delete", json!({"path": path, "recursive": true}), delete(&model, path)),
            4 => ("move", json!({"source": path, "destination": other}), transfer(&model, path, other, false)),
            5 => (
                "copy",
                json!({"source": path, "destination": other, "recursive": true}),
                transfer(&model, path, other, true),
            ),
            _ => {
                let edits = json!([{"old_text": "one", "new_text": text.trim_end()}]);
                ("edit_file", json!({"path": path, "edits": edits}), edit(&model, path, "one", text.trim_end()))
            }
        };
        let outcome = fixture.call(tool, &arguments);
        match (&outcome.error, expected) {
            (None, Some(after)) => model = after,
            (Some(_), None) => {}
            (error, expected) => panic!("{tool} {arguments}: {error:?}, expected {expected:?} of {model:?}"),
        }
        assert_eq!(fixture.tree(), tree(&model), "{tool} {arguments}");
    }
}

fn tree(model: &Model) -> Tree {
    let node = |load: &Option<String>| match load {
        Some(text) => (Kind::File, text.clone().into_bytes()),
        None => (Kind::Directory, Vec::new()),
    };
    model.iter().map(|(path, load)| (path.clone(), node(load))).collect()
}

/// Returns the model with the directories above a path, if they can exist.
fn with_parents(model: &Model, path: &str) -> Option<Model> {
    let mut model = model.clone();
    for (at, _) in path.match_indices('/') {
        match model.get(&path[..at]) {
            Some(Some(_)) => return None,
            Some(None) => {}
            None => {
                model.insert(path[..at].to_owned(), None);
            }
        }
    }
    Some(model)
}

fn write(model: &Model, path: &str, text: &str) -> Option<Model> {
    if model.get(path) == Some(&None) {
        return None;
    }
    let mut after = with_parents(model, path)?;
    after.insert(path.to_owned(), Some(text.to_owned()));
    Some(after)
}

fn append(model: &Model, path: &str, text: &str) -> Option<Model> {
    let old = model.get(path).cloned().flatten().unwrap_or_default();
    write(model, path, &(old + text))
}

fn make_dir(model: &Model, path: &str) -> Option<Model> {
    if matches!(model.get(path), Some(Some(_))) {
        return None;
    }
    let mut after = with_parents(model, path)?;
    after.insert(path.to_owned(), None);
    Some(after)
}

fn delete(model: &Model, path: &str) -> Option<Model> {
    model.get(path)?;
    Some(model.iter().filter(|(other, _)| !is_below(other, path)).map(own).collect())
}

fn edit(model: &Model, path: &str, from: &str, to: &str) -> Option<Model> {
    let old = model.get(path)?.as_ref()?;
    if old.matches(from).count() != 1 || from == to {
        return None;
    }
    write(model, path, &old.replacen(from, to, 1))
}

fn transfer(model: &Model, from: &str, to: &str, keep: bool) -> Option<Model> {
    model.get(from)?;
    if model.contains_key(to) || is_below(to, from) {
        return None;
    }
    let mut after = with_parents(model, to)?;
    for (path, load) in model.iter().filter(|(path, _)| is_below(path, from)) {
        after.insert(format!("{to}{}", &path[from.len()..]), load.clone());
        if !keep {
            after.remove(path);
        }
    }
    Some(after)
}

fn is_below(path: &str, top: &str) -> bool {
    path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn own((path, load): (&String, &Option<String>)) -> (String, Option<String>) {
    (path.clone(), load.clone())
}
