//! Names that tools have for arguments of the same meaning.

/// Names that other tools use for these arguments: those with the same meaning and unit, which are accepted, and those
/// that may mean something else, which are suggested.
const OTHER_NAMES: &[(&str, &[&str], &[&str])] = &[
    (
        "path",
        &["file_path", "filePath", "filename", "file", "dir_path", "directory_path", "target_file", "directory"],
        &[],
    ),
    ("file_path", &["path", "filePath", "filename", "file", "target_file"], &[]),
    ("dir_path", &["path", "directory", "directory_path"], &[]),
    ("old_text", &["oldText", "old_string", "oldString", "old_str"], &["find", "search", "old"]),
    ("oldText", &["old_text", "old_string", "oldString", "old_str"], &["find", "search", "old"]),
    ("new_text", &["newText", "new_string", "newString", "new_str"], &["replace", "insert_text", "replacement", "new"]),
    ("newText", &["new_text", "new_string", "newString", "new_str"], &["replace", "replacement", "new"]),
    ("old_string", &["old_text", "oldText", "oldString", "old_str"], &["find", "search", "old"]),
    ("new_string", &["new_text", "newText", "newString", "new_str"], &["replace", "replacement", "new"]),
    ("offset", &[], &["start_line", "startLine", "skip_lines", "view_range", "line", "start"]),
    (
        "limit",
        &["max_lines", "max_results", "max_matches", "maxResults", "max_count", "head_limit"],
        &["length", "count", "end_line", "endLine"],
    ),
    ("replace_all", &["replaceAll"], &["allow_multiple", "expected_replacements"]),
    ("pattern", &["regex"], &["query", "queries"]),
    ("glob", &["include", "include_pattern", "filePattern", "glob_filter", "file_pattern"], &["type"]),
    ("content", &["contents", "file_text"], &["text", "data"]),
    ("destination", &["dest", "destination_path", "new_path", "to", "target"], &[]),
    ("source", &["src", "source_path", "old_path", "from"], &[]),
    ("case", &[], &["case_sensitive", "ignore_case", "case_insensitive"]),
    ("fixed", &["literal", "fixed_strings"], &["is_regex"]),
    ("before", &["-B", "before_context"], &[]),
    ("after", &["-A", "after_context"], &[]),
    ("context", &["-C", "context_lines", "contextLines"], &[]),
    ("patch", &["input", "diff"], &[]),
    ("create_only", &["exclusive"], &["overwrite"]),
    ("if_match", &["etag", "expected_etag"], &[]),
    ("dry_run", &["dryRun", "preview"], &[]),
    ("dryRun", &["dry_run", "preview"], &[]),
    ("paths", &["files"], &[]),
    ("replacement", &["new_text", "new_string"], &["replace", "new", "with", "substitution"]),
    ("command", &["cmd", "command_line"], &["script", "commands"]),
    ("cmd", &["command", "command_line"], &[]),
    ("workdir", &["cwd", "working_directory"], &["directory", "dir"]),
    ("timeout_ms", &["timeoutMs"], &["timeout", "timeout_seconds"]),
    ("session_id", &[], &["session", "id", "pid", "process_id"]),
    ("chars", &[], &["input", "text", "data"]),
    ("since", &["token"], &["cursor", "after", "from"]),
];

/// Returns whether other tools have the name `other` for the argument `name`, with the same meaning and unit.
pub fn same_argument(name: &str, other: &str) -> bool {
    OTHER_NAMES.iter().any(|(known, same, _)| *known == name && same.contains(&other))
}

/// Returns the name in `names` that `requested_name` most likely stands for.
pub fn nearest<'n>(requested_name: &str, names: &[&'n str]) -> Option<&'n str> {
    let is_other =
        |same: &[&str], similar: &[&str]| same.contains(&requested_name) || similar.contains(&requested_name);
    let meant = OTHER_NAMES.iter().find(|(name, same, similar)| names.contains(name) && is_other(same, similar));
    if let Some((meant, ..)) = meant {
        return names.iter().find(|name| *name == meant).copied();
    }
    let requested_name = requested_name.to_lowercase();
    let score = |name: &&&str| paddock_text::similarity(&requested_name, &name.to_lowercase());
    let best = names.iter().max_by(|a, b| score(a).total_cmp(&score(b)))?;
    (score(&best) >= 0.5).then_some(*best)
}
