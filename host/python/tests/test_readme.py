"""The examples on the guide's page about Python work as written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parent / "../../guide/src/python.md").read_text()


def test_its_program_runs(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The colour is red.\n")
    program = PAGE.split("```python\n")[1].split("```")[0]
    program += "print(len(definitions), definitions[0]['type'])\n"
    proc = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert proc.returncode == 0, proc.stderr
    assert "notes.txt" in proc.stdout and "The colour is red." in proc.stdout and proc.stdout.endswith(" function\n")
    assert (tmp_path / "notes.txt").read_text() == "The color is red.\n"


def test_named_files_exist() -> None:
    import paddock_files

    for name in ("Outcome", "ToolError", "MemoryWorkspace", "Replacement", "Workspace"):
        assert name in PAGE and hasattr(paddock_files, name), name
    assert {"approver", "mounts", "read_only"} <= set(paddock_files.Workspace.__init__.__annotations__)
    project = (Path(__file__).parent / "../pyproject.toml").read_text()
    for extra, module in (("pydantic-ai", "pydantic_ai"), ("openai-agents", "openai_agents")):
        assert f"`paddock-files[{extra}]`" in PAGE and f"{extra} = [" in project
        assert os.path.exists(Path(paddock_files.__file__).with_name(f"{module}.py"))


def test_no_text_starts_the_module_from_the_directory_of_an_agent() -> None:
    """`python -m` imports modules of the current directory, which an agent may have written; `-P` prevents this."""
    top = Path(__file__).parent / "../../.."
    texts = ["README.md", "host/python/README.md", "host/python/src/paddock_files/__main__.py"]
    for text in [*(top / name for name in texts), *(top / "host/guide/src").rglob("*.md")]:
        assert "python -m paddock_files" not in text.read_text(), text
