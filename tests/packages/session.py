"""A session with an MCP server: `session.py COMMAND...` starts it, lists its tools, reads `notes.txt`, and ends it."""

import json
import subprocess
import sys

PATIENCE_S = 120
REQUESTS = (
    ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "smoke", "version": "1"}}),
    ("tools/list", {}),
    ("tools/call", {"name": "read_file", "arguments": {"path": "notes.txt"}}),
)


def main(command: list[str]) -> None:
    lines = [{"jsonrpc": "2.0", "id": id, "method": method, "params": params} for id, (method, params) in enumerate(REQUESTS)]
    lines.insert(1, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin and server.stdout
        answers = {}
        for line in lines:
            server.stdin.write(json.dumps(line) + "\n")
            server.stdin.flush()
            # The answer comes before the next request is sent, among notifications.
            while "id" in line and line["id"] not in answers:
                answer = json.loads(server.stdout.readline())
                if "id" in answer:
                    answers[answer["id"]] = answer["result"]
        server.stdin.close()
        status = server.wait(PATIENCE_S)
    initialized, listed, called = answers.values()
    assert initialized["serverInfo"]["name"] == "paddock", initialized
    assert len(listed["tools"]) == 17, listed
    assert "The colour is red." in called["content"][0]["text"], called
    assert status == 0, f"the server ended with status {status}"
    print(f"mcp: {len(listed['tools'])} tools")


main(sys.argv[1:])
