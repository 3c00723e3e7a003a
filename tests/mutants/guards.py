"""Disables each check of a module in turn: a statement such as `check(…)?;` or `sync(…);` is skipped, or a condition is
false.

cargo-mutants replaces return values and comparison operators, but keeps calls. This script adds a switch to every
check, builds the tests once, and runs them for each check. A check is caught if a test fails without it, and missed
otherwise. The script changes the tree in which it runs, so `run` gives it a copy.
"""

import collections
import os
import re
import signal
import subprocess

MODULES = [
    "resolve",
    "path_syntax",
    "rights",
    "protected_paths",
    "redaction",
    "access_rules",
    "change/commit",
    "change/directories",
    "change/step",
    "change/journal",
]
STATEMENT = re.compile(r"(\s+)(?!\s|return\b|let\b|[.})])([^=]*\)\??;)$")
CONDITION = re.compile(r"(.*\bif )(.*)( \{)$")
SWITCH = """
/// Whether that check is to be left out.
pub fn is_out(check: u32) -> bool {
    static OUT: std::sync::LazyLock<Option<u32>> = std::sync::LazyLock::new(|| std::env::var("OUT").ok()?.parse().ok());
    *OUT == Some(check)
}
"""
TESTS = [["-p", "paddock-workspace"], ["-p", "paddock-guest", "--test", "*"]]


def switched(module, checks):
    """Returns the lines of the module with a switch for each check, and adds the checks to `checks`."""
    path = f"guest/workspace/src/{module}.rs"
    with open(path) as file:
        lines = file.read().split("\n")
    before = ";"
    for number, line in enumerate(lines):
        if "#[cfg(test)]" in line:
            break
        is_whole = before.endswith((";", "{", "}", ",")) and line.count("(") == line.count(")")
        before = line if line.strip() and not line.strip().startswith("//") else before
        is_on = f"!crate::is_out({len(checks)})"
        if is_whole and (match := STATEMENT.match(line)):
            indent, statement = match.groups()
            lines[number] = f"{indent}if {is_on} {{ {statement} }}"
            checks.append((module, f"{path}:{number + 1}: without `{statement}`"))
        elif match := CONDITION.match(line):
            start, what, end = match.groups()
            lines[number] = f"{start}{is_on} && {what if what.startswith('let ') else f'({what})'}{end}"
            checks.append((module, f"{path}:{number + 1}: never `{what}`"))
    with open(path, "w") as file:
        file.write("\n".join(lines))


def fails(tests, out):
    """Returns whether a test fails without that check. A test that does not end has failed too."""
    command = ["cargo", "test", "-q", *tests]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    with subprocess.Popen(command, env={**os.environ, "OUT": str(out)}, **quiet) as cargo:
        try:
            return cargo.wait(timeout=600) != 0
        except subprocess.TimeoutExpired:
            os.killpg(cargo.pid, signal.SIGKILL)
            return True


def main():
    checks, verdicts = [], collections.defaultdict(collections.Counter)
    for module in MODULES:
        switched(module, checks)
    with open("guest/workspace/src/lib.rs", "a") as file:
        file.write(SWITCH)
    for tests in TESTS:
        subprocess.run(["cargo", "test", "-q", *tests], check=True, stdout=subprocess.DEVNULL)
    for out, (module, check) in enumerate(checks):
        verdict = "caught" if any(fails(tests, out) for tests in TESTS) else "missed"
        verdicts[module][verdict] += 1
        print(f"{verdict} {check}", flush=True)
    for module, counts in verdicts.items():
        print(f"{module}: {dict(counts)}")


if __name__ == "__main__":
    main()
