use super::*;

fn commands(line: &str) -> Vec<String> {
    let words = |run: &Run| run.words.iter().map(|word| word.as_deref().unwrap_or("?")).collect::<Vec<_>>().join(" ");
    parse(line).unwrap().commands.iter().map(words).collect()
}

#[test]
fn every_command_of_a_line_is_found() {
    for (line, expected) in [
        ("ls -l", &["ls -l"][..]),
        ("a && b || c; d & e | f", &["a", "b", "c", "d", "e", "f"]),
        ("(a; { b; })", &["a", "b"]),
        ("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]),
        ("while a; do b; done; until c; do d; done", &["a", "b", "c", "d"]),
        ("for x in $(a) b; do c $x; done", &["a", "c ?"]),
        ("case $(a) in b) c;; esac", &["a", "c"]),
        ("f() { rm x; }; f", &["rm x", "f"]),
        ("x=$(a) b \"$(c)\" `d` 'e f' g\\ h", &["a", "c", "d", "b ? ? e f g h"]),
        ("cat < <(a) > $(b)", &["a", "b", "cat"]),
        ("\"r\"m -r'f' \"a b\"", &["rm -rf a b"]),
        ("echo *.rs ~ $x {a,b}", &["echo ? ? ? ?"]),
        ("[[ -n $(a) ]]", &["a"]),
        ("x=1", &[]),
        ("env x=1 make", &["env x=1 make"]),
    ] {
        assert_eq!(commands(line), expected, "{line}");
    }
}

#[test]
fn unreadable_words_are_reported() {
    for line in ["echo ${x:-$(a)}", "echo $(( $(a) ))", "cat <<E\n$(a)\nE", "(( x = `a` ))", "a[$(b)]=1"] {
        assert!(parse(line).unwrap().is_opaque, "{line}");
    }
    for line in ["echo ${x:-1} $((1 + 2))", "cat <<'E'\n$(a)\nE", "cat <<E\n$x\nE", "echo '$(a)'"] {
        assert!(!parse(line).unwrap().is_opaque, "{line}");
    }
    for line in ["echo 'a", "if a; then", "a | | b", "$(("] {
        assert!(parse(line).is_err(), "{line}");
    }
}

#[test]
fn a_plain_command_is_split_into_words() {
    let words = |line| plain_words(line).map(|words: Vec<String>| words.join("|"));
    assert_eq!(words("wc -l 'a b' \"c\""), Some("wc|-l|a b|c".to_owned()));
    for line in ["wc | wc", "wc > x", "wc $x", "wc; wc", "wc &", "! wc", "x=1 wc", "(wc)", ""] {
        assert_eq!(words(line), None, "{line}");
    }
}
