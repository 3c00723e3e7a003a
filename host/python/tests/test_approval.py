"""Calls that need approval: only the approved call is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock_files import Decision, ToolError, Workspace
from paddock_files.types import Plan

DELETE = {"path": "a.txt"}
POLICY = {"approval": "on-delete"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/a.txt").write_text("one\n")
    (tmp_path / "work/b.txt").write_text("two\n")
    return tmp_path / "work"


def test_without_an_approver_nothing_is_done(root: Path) -> None:
    workspace = Workspace(root, policy=POLICY)
    outcome = workspace.call("delete", DELETE)
    assert outcome.error is not None and outcome.error.code == "approval-required"
    assert outcome.plan is not None and outcome.plan.paths == ["a.txt"]
    assert outcome.plan.summary == "delete `a.txt` (a file of 4 bytes)\n"
    with pytest.raises(ToolError) as raised:
        workspace.delete("a.txt")
    assert raised.value.code == "approval-required" and (root / "a.txt").exists()


def test_a_plan_shows_the_change(root: Path) -> None:
    workspace = Workspace(root, policy={"approval": "on-change"})
    plan = workspace.call("write_file", {"path": "a.txt", "content": "1\n"}).plan
    assert plan is not None and plan.omitted_bytes == 0
    expected = "write `a.txt` (a file of 4 bytes)\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n"
    assert plan.summary == expected
    plan = workspace.call("write_file", {"path": "long", "content": "x\n" * 200_000}).plan
    assert plan is not None and plan.omitted_bytes > 300_000 and len(plan.summary) < 270_000


def test_only_the_approved_call_runs_and_only_once(root: Path) -> None:
    workspace = Workspace(root, policy=POLICY)
    plan = workspace.call("delete", DELETE).plan
    assert plan is not None
    grant = workspace.grant(plan, 60)
    other = workspace.call("delete", {"path": "b.txt"}, grant=grant)
    assert other.error is not None and other.error.code == "approval-required" and (root / "b.txt").exists()
    again = workspace.call("delete", DELETE, grant=grant)
    assert again.error is not None and again.error.code == "denied" and "used before" in again.error.message
    assert workspace.call("delete", DELETE, grant=workspace.grant(plan, 60)).ok
    assert not (root / "a.txt").exists()


def test_a_late_or_forged_grant_does_nothing(root: Path) -> None:
    workspace = Workspace(root, policy=POLICY)
    plan = workspace.call("delete", DELETE).plan
    assert plan is not None
    late = workspace.call("delete", DELETE, grant=workspace.grant(plan, -1))
    assert late.error is not None and late.error.code == "denied"
    others = Workspace(root, policy=POLICY).grant(plan, 60)
    forged = workspace.call("delete", DELETE, grant=others)
    assert forged.error is not None and forged.error.code == "denied" and (root / "a.txt").exists()


@pytest.mark.parametrize(
    ("decision", "code"), [(True, None), (False, "denied"), ("not that one", "denied"), (None, "approval-required")]
)
def test_an_approver_decides(root: Path, decision: Decision, code: str | None) -> None:
    plans: list[Plan] = []

    def approve(plan: Plan) -> Decision:
        plans.append(plan)
        return decision

    outcome = Workspace(root, policy=POLICY, approver=approve).call("delete", DELETE)
    assert len(plans) == 1 and (root / "a.txt").exists() == (code is not None)
    assert (outcome.error and outcome.error.code) == code
    if decision == "not that one":
        assert "not that one" in outcome.text


def test_a_file_that_changes_meanwhile_needs_a_new_answer(root: Path) -> None:
    plans: list[str] = []

    def approve(plan: Plan) -> bool:
        plans.append(plan.summary)
        if len(plans) == 1:
            (root / "a.txt").write_text("something else\n")
        return len(plans) == 1

    outcome = Workspace(root, policy=POLICY, approver=approve).call("delete", DELETE)
    assert outcome.error is not None and outcome.error.code == "denied" and (root / "a.txt").exists()
    assert [summary.split("(")[1] for summary in plans] == ["a file of 4 bytes)\n", "a file of 15 bytes)\n"]
