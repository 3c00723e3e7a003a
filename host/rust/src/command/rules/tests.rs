use super::*;

fn refused(allow: &[&str], deny: &[&str], line: &str) -> Option<String> {
    let own = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect::<Vec<_>>();
    Rules::new(&own(allow), &own(deny)).check(line).err().map(|error| error.message)
}

#[test]
fn a_denied_command_is_found_in_every_place() {
    for line in [
        "git push",
        "/usr/bin/git push origin",
        "cd x && git push",
        "echo $(git push)",
        "(true; git  'push')",
        "env A=1 git push",
        "timeout 5 nice -n 3 git push",
        "sh -c 'git push'",
        "bash -ec \"cd x; git push\"",
        "xargs git push",
        "eval git push",
        "f() { git push; }; f",
        "git \"push\" | cat",
        "find . -exec git push ';'",
        "env sh -c 'git push'",
        "env /bin/sh -c 'git push'",
        "busybox sh -c 'git push'",
        "watch 'git push'",
        "flock x -c 'git push'",
        "trap 'git push' EXIT",
        "bash <<< 'git push'",
        "sh <<E\ngit push\nE",
        "sh -s <<'E'\ngit push\nE",
        "env sh <<< 'git push'",
    ] {
        let cause = refused(&[], &["git push"], line);
        assert!(cause.as_ref().is_some_and(|cause| cause.contains("`git push`")), "{line}: {cause:?}");
    }
    for line in [
        "git status",
        "echo git push",
        "git pushx",
        "grep 'git push' x",
        "cat <<'E'\ngit push\nE",
        "sh script.sh",
        "sh < script.sh",
        "bash -e ./run.sh a b",
        "grep '$(x)' y | awk '{print $1}'",
        "i=0; while [ $i -lt 3 ]; do i=$((i + 1)); done",
        "echo $((1 + 2)) 'a b'",
        "source ./rc",
        "read x < y; test -n \"$x\"",
        "hash -r",
        "find . -exec grep x {} +",
        "ls | xargs -I{} cp {} y",
    ] {
        assert_eq!(refused(&[], &["git push"], line), None, "{line}");
    }
}

#[test]
fn undecidable_lines_are_refused_where_there_are_rules() {
    for line in [
        "$x push",
        "git $x",
        "sh -c \"$x\"",
        "eval \"$x\"",
        "g*t push",
        "echo ${x:-`git push`}",
        "git 'push",
        "alias g=git; g push",
        "env -S 'git push'",
        "env -iS 'git push'",
        "trap \"$x\" EXIT",
        "echo 'git push' | sh",
        "echo 'git push' | bash -s x",
        "sh",
        "cat x | sh /dev/stdin",
        "sh <(echo git push)",
        ". /dev/stdin <<< 'git push'",
        "source <(echo git push)",
        "sh < <(echo git push)",
        "bash <<< \"$x\"",
        "hash -p /usr/bin/git g; g push",
        "mapfile -C 'git push' -c 1 x < y",
        "readarray -tC 'git push' x < y",
        "compgen -C 'git push' x",
        "complete -C 'git push' x",
        "enable -f ./x.so x",
        "test -v 'a[$(git push)]'",
        "[[ -v 'a[$(git push)]' ]]",
        "[[ 'a[$(git push)]' -eq 1 ]]",
        "printf -v 'a[$(git push)]' x",
        "read 'a[`git push`]' < y",
        "unset 'a[$(git push)]'",
        "x='a[$(git push)]'; echo $((x))",
        "x='a[$(git push)]'; (( x ))",
        "x='a[$(git push)]'; let x",
        "x=a[\\$(git push)]; echo $((x)); : '",
        "x='$(git push)'; echo ${x@P}",
        "x=$'a[\\x24(git push)]'; : $((x))",
        "a=(1); echo ${a['$(git push)']}",
        "ls | xargs -I{} sh -c '{}'",
        "find . -exec sh -c '{}' ';'",
    ] {
        assert!(refused(&[], &["git push"], line).is_some(), "{line}");
        assert_eq!(refused(&[], &[], line), None, "{line}: without rules");
    }
}

#[test]
fn a_line_of_many_shells_is_checked_in_time() {
    let mut line = "true".to_owned();
    for _ in 0..MAX_SHELLS {
        line = format!("env {}-c {}", "sh ".repeat(30), shlex(&line));
    }
    let begun = std::time::Instant::now();
    assert_eq!(refused(&[], &["git push"], &line), None);
    assert!(begun.elapsed().as_secs() < 5, "it took {:?}", begun.elapsed());
}

fn shlex(line: &str) -> String {
    format!("'{}'", line.replace('\'', "'\\''"))
}

#[test]
fn a_list_of_allowed_commands_allows_no_other() {
    let allow = ["git status", "git diff", "make", "env", "timeout", "find", "nice"];
    for line in [
        "git status -s",
        "cd x && make test",
        "echo $(git diff)",
        "env A=1 make",
        "timeout 5 make",
        "timeout -k 5s 5 nice -n 3 make",
        "env",
        "find . -name x",
        "find . -exec make {} ';'",
        "x=1",
        "make | cat",
    ] {
        let expected = line.contains("cat");
        assert_eq!(refused(&allow, &[], line).is_some(), expected, "{line}");
    }
    for line in [
        "git",
        "git push",
        "rm -rf .",
        "make; rm x",
        "env rm x",
        "timeout 5 rm x",
        "timeout 5 rm make",
        "env rm git status",
        "timeout 5 env A=1 rm make",
        "find . -exec rm make ';'",
        "find . -exec make ';' -exec rm {} ';'",
        "env 7z make",
        "env ./a=b make",
        "find make -exec $x ';'",
        "echo $(rm x)",
        "git $x",
        "ls > x",
    ] {
        assert!(refused(&allow, &[], line).is_some(), "{line}");
    }
    let cause = refused(&allow, &[], "rm x").unwrap();
    assert!(cause.contains("no rule for `rm`") && cause.contains("`git status`"), "{cause}");
}

#[test]
fn deny_takes_precedence_over_allow() {
    assert!(refused(&["git"], &["git push"], "git push").is_some());
    assert!(refused(&["git"], &["git push"], "git pull").is_none());
}

mod attacks;
mod ordinary;

/// Rules against commands are no security boundary. This test measures them by lines that run `rm` in hidden ways.
#[test]
fn most_lines_that_hide_a_denied_command_are_refused() {
    let all: Vec<_> = attacks::REFUSED.iter().copied().flatten().collect();
    let open: Vec<_> = all.iter().filter(|line| refused(&[], &["rm"], line).is_none()).collect();
    println!("{} of {} are refused; not: {open:#?}", all.len() - open.len(), all.len());
    assert!(open.len() <= MAX_OPEN, "{} of {}: {open:#?}", open.len(), all.len());
}

#[test]
fn nearly_all_ordinary_lines_are_not() {
    let odd: Vec<_> = ordinary::ACCEPTED.iter().filter(|line| refused(&[], &["rm"], line).is_some()).collect();
    println!("{} of {} are refused: {odd:#?}", odd.len(), ordinary::ACCEPTED.len());
    assert!(odd.len() <= MAX_ODD, "{} of {}: {odd:#?}", odd.len(), ordinary::ACCEPTED.len());
}

/// Measured numbers: a change that admits more of these lines, or refuses more harmless lines, must change them.
const MAX_OPEN: usize = 74;
const MAX_ODD: usize = 19;
