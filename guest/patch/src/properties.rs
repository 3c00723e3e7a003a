//! Properties of whole patches.

use paddock_types::request::Matching;
use proptest::prelude::*;
use similar::TextDiff;

use crate::{Action, apply, parse as parse_as, parse_strictly as parse};

fn text(endings: &'static [&'static str]) -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("a"),
        Just("b"),
        Just(""),
        Just("let x = 1;"),
        Just("- x"),
        Just("-- "),
        Just("@@ y"),
        Just("+")
    ];
    let lines = prop::collection::vec((line, prop::sample::select(endings)), 0..12);
    (lines, any::<bool>()).prop_map(|(lines, open)| {
        let whole: String = lines.into_iter().flat_map(|(line, ending)| [line, ending]).collect();
        if open { whole.trim_end_matches(['\r', '\n']).to_owned() } else { whole }
    })
}

fn applied(old: &str, patch: &str) -> String {
    let files = parse(patch).unwrap();
    let Action::Update(hunks) = &files[0].action else { panic!("{patch}") };
    let change = apply::change(old, hunks, Matching::Strict).unwrap_or_else(|reject| panic!("{reject:?}\n{patch}"));
    let mut new = old.to_owned();
    for splice in change.splices.iter().rev() {
        new.replace_range(splice.range.clone(), &splice.text);
    }
    new
}

/// Returns the text after a patch with corrections, and the number of corrections; `None` if the patch is refused.
fn corrected(old: &str, patch: &str) -> Option<(String, usize)> {
    let files = parse_as(patch, Matching::Corrected).ok()?;
    let Action::Update(hunks) = &files[0].action else { panic!("{patch}") };
    let change = apply::change(old, hunks, Matching::Corrected).ok()?;
    let mut new = old.to_owned();
    for splice in change.splices.iter().rev() {
        new.replace_range(splice.range.clone(), &splice.text);
    }
    Some((new, change.corrections.len()))
}

fn diff(old: &str, new: &str, context: usize) -> String {
    TextDiff::from_lines(old, new).unified_diff().context_radius(context).header("a/f", "b/f").to_string()
}

/// Formats two texts as an envelope with one chunk: all old lines, then all new lines.
fn envelope(old: &str, new: &str) -> String {
    let old = old.lines().map(|line| format!("-{line}\n"));
    let new = new.lines().map(|line| format!("+{line}\n"));
    let rows: String = old.chain(new).collect();
    format!("*** Begin Patch\n*** Update File: f\n@@\n{rows}*** End Patch\n")
}

proptest! {
    #[test]
    fn a_diff_gives_the_new_text(
        (old, new) in prop_oneof![(text(&["\n"]), text(&["\n"])), (text(&["\r\n"]), text(&["\r\n"])), (text(&["\n", "\r\n"]), text(&["\n", "\r\n"]))],
        context in 1_usize..4,
    ) {
        prop_assume!(old != new);
        prop_assert_eq!(applied(&old, &diff(&old, &new, context)), new);
    }

    #[test]
    fn a_diff_without_context_gives_the_new_text(old in text(&["\n"]), new in text(&["\n"])) {
        prop_assume!(old != new);
        prop_assert_eq!(applied(&old, &diff(&old, &new, 0)), new);
    }

    /// A correct patch has the same result when corrections are allowed, and reports none.
    #[test]
    fn a_right_diff_is_not_corrected(old in text(&["\n"]), new in text(&["\n"]), context in 0_usize..4) {
        prop_assume!(old != new);
        let patch = diff(&old, &new, context);
        let corrected = corrected(&old, &patch);
        prop_assert_eq!(corrected, Some((new, 0)));
    }

    /// Wrong line numbers and counts give the new text and a report, or a refusal; never another text.
    #[test]
    fn a_diff_with_wrong_numbers_gives_the_new_text_or_fails(
        lines in prop::collection::vec(0_u16..400, 1..60), at in any::<prop::sample::Index>(),
        numbers in prop::array::uniform4(0_usize..80), has_numbers in any::<bool>(),
    ) {
        // Distinct lines: every context occurs once.
        let old: String = lines.iter().enumerate().map(|(index, line)| format!("{index} {line}\n")).collect();
        let changed = at.index(lines.len());
        let line = |(index, line): (usize, &u16)| if index == changed { format!("new {line}\nadded\n") } else { format!("{index} {line}\n") };
        let new: String = lines.iter().enumerate().map(line).collect();
        let patch = diff(&old, &new, 3);
        let start = patch.find("@@ -").unwrap();
        let end = start + patch[start..].find('\n').unwrap();
        let [a, b, c, d] = numbers;
        let header = if has_numbers { format!("@@ -{a},{b} +{c},{d} @@") } else { "@@".to_owned() };
        let wrong = format!("{}{header}{}", &patch[..start], &patch[end..]);
        match corrected(&old, &wrong) {
            Some((text, corrections)) => {
                prop_assert_eq!(text, new);
                prop_assert_eq!(corrections, usize::from(patch[start..end] != header));
            }
            None => prop_assert!(false, "{}", wrong),
        }
    }

    #[test]
    fn an_lf_diff_fits_a_crlf_file(old in text(&["\n"]), new in text(&["\n"]), context in 0_usize..4) {
        prop_assume!(old.contains('\n') && old != new);
        let crlf = |text: &str| text.replace('\n', "\r\n");
        prop_assert_eq!(applied(&crlf(&old), &diff(&old, &new, context)), crlf(&new));
        prop_assert_eq!(applied(&crlf(&old), &crlf(&diff(&old, &new, context))), crlf(&new));
    }

    #[test]
    fn an_envelope_gives_the_new_text(old in text(&["\n"]), new in text(&["\n"])) {
        prop_assume!(!old.is_empty() && !new.is_empty() && new.trim_end() == new.trim_end_matches('\n'));
        let open = |text: &str| !text.ends_with('\n');
        prop_assume!(open(&old) == open(&new));
        prop_assert_eq!(applied(&old, &envelope(&old, &new)), new);
    }

    #[test]
    fn anything_parses_or_fails(patch in ".*", begin in any::<bool>()) {
        let _ = parse(&patch);
        let _ = parse(&format!("{}\n{patch}", if begin { "*** Begin Patch" } else { "--- a/x\n+++ b/x" }));
    }

    #[test]
    fn a_damaged_patch_applies_or_fails(
        old in text(&["\n"]), new in text(&["\r\n", "\n"]), is_diff in any::<bool>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), "[-+ @*,0-9\\\\\"\n]?"), 1..6),
    ) {
        let whole = if is_diff { diff(&old, &new, 2) } else { envelope(&old, &new) };
        let mut chars: Vec<String> = whole.chars().map(String::from).collect();
        prop_assume!(!chars.is_empty());
        for (at, with) in damage {
            let at = at.index(chars.len());
            chars[at] = with;
        }
        let patch = chars.concat();
        for file in parse(&patch).into_iter().flatten() {
            if let Action::Update(hunks) = &file.action {
                let _ = apply::change(&old, hunks, Matching::Strict);
            }
        }
        for file in parse_as(&patch, Matching::Corrected).into_iter().flatten() {
            if let Action::Update(hunks) = &file.action {
                let _ = apply::change(&old, hunks, Matching::Corrected);
            }
        }
    }

    #[test]
    fn other_bytes_stay_as_they_are(
        before in prop::collection::vec(any::<u8>().prop_filter("a line, and not NUL", |byte| *byte > 13), 0..40),
        after in prop::collection::vec(any::<u8>().prop_filter("a line, and not NUL", |byte| *byte > 13), 0..40),
    ) {
        let bytes = [b"\xef\xbb\xbf", before.as_slice(), b"\r\ntarget line\r\n", after.as_slice()].concat();
        let patch = "*** Begin Patch\n*** Update File: f\n@@\n-target line\n+new\n+line\n*** End Patch\n";
        let files = parse(patch).unwrap();
        let Action::Update(hunks) = &files[0].action else { panic!() };
        let patched = crate::plan::patched("f", bytes, hunks, Matching::Strict).unwrap();
        let expected = [b"\xef\xbb\xbf", before.as_slice(), b"\r\nnew\r\nline\r\n", after.as_slice()].concat();
        prop_assert_eq!(patched.bytes, expected);
    }
}
