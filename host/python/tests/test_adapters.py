"""The tools in agent libraries: the real packages with a function in place of a model, without network."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from paddock_files import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/a.txt").write_text("one\n")
    return Workspace(tmp_path / "work", state_dir=tmp_path / "state")


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "a.txt"}),
    ("edit_file", {"path": "a.txt", "edits": [{"old_text": "one", "new_text": "two"}]}),
    ("read_file", {"path": "../a.txt"}),
    ("read_file", {"path": "a.txt"}),
]


def check(answers: list[str], workspace: Workspace) -> None:
    assert answers[0].startswith("1|one\n") and answers[3].startswith("1|two\n"), answers
    assert answers[2] == workspace.call("read_file", {"path": "../a.txt"}).text


def test_pydantic_ai(workspace: Workspace) -> None:
    pydantic_ai = pytest.importorskip("pydantic_ai", reason="the extra `pydantic-ai` is not installed")
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    import paddock_files.pydantic_ai

    answers: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert [tool.name for tool in info.function_tools] == [tool.name for tool in paddock_files.describe()]
        schema = {tool.name: tool.parameters_json_schema for tool in info.function_tools}["read_file"]
        assert schema["required"] == ["path"]
        answers.extend(part.content for part in messages[-1].parts if part.part_kind == "tool-return")
        if len(answers) == len(CALLS):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(*CALLS[len(answers)])])

    agent = pydantic_ai.Agent(FunctionModel(model), toolsets=[paddock_files.pydantic_ai.toolset(workspace)])
    assert agent.run_sync("go on").output == "done"
    check(answers, workspace)


def test_openai_agents(workspace: Workspace) -> None:
    agents = pytest.importorskip("agents", reason="the extra `openai-agents` is not installed")
    from agents import Agent, ModelResponse, Runner, Usage
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    import paddock_files.openai_agents

    answers: list[str] = []

    class Model(agents.Model):  # type: ignore[misc, name-defined]
        async def get_response(self, *, input: Any, tools: Any, **more: Any) -> Any:
            assert [tool.name for tool in tools] == [tool.name for tool in paddock_files.describe()]
            answers[:] = [
                item["output"]
                for item in input
                if isinstance(item, dict) and item.get("type") == "function_call_output"
            ]
            if len(answers) < len(CALLS):
                name, arguments = CALLS[len(answers)]
                call = ResponseFunctionToolCall(
                    type="function_call", name=name, arguments=json.dumps(arguments), call_id=f"call{len(answers)}"
                )
                return ModelResponse(output=[call], usage=Usage(), response_id=None)
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            message = ResponseOutputMessage(
                id="1", type="message", role="assistant", status="completed", content=[text]
            )
            return ModelResponse(output=[message], usage=Usage(), response_id=None)

        def stream_response(self, *arguments: Any, **more: Any) -> Any:
            raise NotImplementedError

    agents.set_tracing_disabled(True)
    agent = Agent(name="editor", model=Model(), tools=paddock_files.openai_agents.tools(workspace))
    assert asyncio.run(Runner.run(agent, "go on")).final_output == "done"
    check(answers, workspace)


def test_names_with_dots_are_taken_as_providers_do(workspace: Workspace) -> None:
    pytest.importorskip("pydantic_ai", reason="the extra `pydantic-ai` is not installed")
    import paddock_files.pydantic_ai

    tools = paddock_files.pydantic_ai.toolset(workspace, "chorus").tools
    assert "file_read" in tools and not any("." in name for name in tools)
