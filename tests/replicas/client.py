"""A client of the proxy. A call has an answer, or is lost because its connection ended first."""

import hashlib
import http.client
import json
import re
import time
from collections import Counter

# Time in seconds in which a call that only reads has to be answered, by any server.
PATIENCE = 90


def etag(text):
    """Returns the etag of a file with this content."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Failed(Exception):
    """The answer of a tool that failed."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.code, self.message = error["code"], error["message"]

    def current_etag(self):
        """Returns the etag that the message of `changed-since-read` reports."""
        found = re.search(r"its etag is `([0-9a-f]{16})`", self.message)
        return found and found.group(1)


class Lost(Exception):
    """The call has no answer: it may have been made, or not."""


class Refused(Exception):
    """The server refused the request before the call began."""


class Client:
    def __init__(self, name, port):
        self.name, self.port = name, port
        self.connection, self.ids = None, 0
        self.counts = Counter()

    def new_id(self):
        self.ids += 1
        return f"{self.name}-{self.ids}"

    def call(self, token, workspace, tool, **arguments):
        """Makes a call, and returns its result."""
        body = json.dumps({"tool": tool, "arguments": arguments})
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
            self.connection.request("POST", f"/w/{workspace}/call", body, headers)
            reply = self.connection.getresponse()
            status, text = reply.status, reply.read()
        except (OSError, http.client.HTTPException) as cause:
            self.connection = None
            self.counts["lost"] += 1
            raise Lost(repr(cause)) from cause
        if status in (502, 503, 504):
            # The proxy has no server, or the server died.
            self.counts["lost"] += 1
            raise Lost(f"status {status}")
        if status == 429:
            self.counts["refused"] += 1
            raise Refused(text.decode())
        if status != 200:
            raise AssertionError(f"{tool} {arguments}: status {status}: {text!r}")
        outcome = json.loads(text)
        if outcome["ok"]:
            return outcome["result"]
        raise Failed(outcome["error"])

    def change(self, *call, **arguments):
        """Makes a call that changes something."""
        result = self.call(*call, **arguments)
        self.counts["edits"] += 1
        return result

    def until_answered(self, *call, **arguments):
        """Makes a call that only reads, again until it is answered."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self.call(*call, **arguments)
            except (Lost, Refused) as cause:
                self.counts["retries"] += 1
                if time.monotonic() > end:
                    raise AssertionError(f"no answer to {call} within {PATIENCE} s: {cause}") from cause
                time.sleep(0.05)

    def read(self, token, workspace, path):
        """Returns the content of a file, or `None` if there is none. Checks its etag."""
        try:
            result = self.until_answered(token, workspace, "read_file", path=path, mode="raw")
        except Failed as failed:
            if failed.code == "not-found":
                return None
            raise
        # A page has at most 50 KiB, of which the files of this test have less.
        assert not result["truncated"], path
        assert result["etag"] == etag(result["content"]), f"{path}: the etag is not that of the content"
        return result["content"]
