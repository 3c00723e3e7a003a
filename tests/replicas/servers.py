"""Two `paddock serve` processes over the same directories behind HAProxy, and a thread that kills and restarts them."""

import hashlib
import http.client
import json
import os
import random
import socket
import subprocess
import threading
import time
from pathlib import Path

REPLICAS = 2
# Time in seconds in which a server has to accept connections.
START = 60

# The tokens: one for whole workspaces, and one for the directory `part` of each.
ALL, PART = "pdk_all", "pdk_part"


def free_port():
    """Returns a port that no program uses now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for_port(port, process, log):
    """Waits until a process accepts connections."""
    end = time.monotonic() + START
    while time.monotonic() < end:
        if process.poll() is not None:
            raise SystemExit(f"{process.args[0]} ended with the status {process.returncode}:\n{log()}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise SystemExit(f"{process.args[0]} does not accept connections:\n{log()}")


class Replica:
    """A server that can be killed and started again, on the same port."""

    def __init__(self, binary, home, number, state_dir, user_home):
        self.binary, self.home, self.port = binary, home / f"replica-{number}", free_port()
        self.home.mkdir()
        self.file = self.home / "serve.json"
        unlimited = {"calls_per_second": 10**6, "bytes_per_second": 10**12, "call_ms_per_second": 10**9}
        tokens = [(ALL, {}), (PART, {"path": "part"})]
        self.file.write_text(
            json.dumps({
                "listen": f"127.0.0.1:{self.port}",
                "state_dir": str(state_dir),
                "templates": [{"root": f"{home}/workspaces/{{name}}", "limits": {"concurrent_calls": 64, **unlimited}}],
                "tokens": [
                    {"name": token, "sha256": hashlib.sha256(token.encode()).hexdigest(), "grant": {"workspaces": ["w*"], **grant}}
                    for token, grant in tokens
                ],
            })
        )
        names = ["HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"]
        own = {name: str(user_home / name.lower()) for name in names}
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("PADDOCK_")} | own
        self.process = None

    def start(self):
        with (self.home / "log").open("ab") as log:
            arguments = [self.binary, "serve", "--config", self.file]
            self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment)

    def wait_until_ready(self):
        wait_for_port(self.port, self.process, self.log)

    def request(self, method, path, body):
        """Sends one request with the token for everything. Returns the status and the text of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {ALL}", "Content-Type": "application/json"}
        connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Ends the server by SIGTERM, and returns its exit status."""
        self.process.terminate()
        return self.process.wait(timeout=60)

    def log(self):
        return (self.home / "log").read_text(errors="replace")[-4000:]


class Proxy:
    """HAProxy, which sends each request to the next server that answers its health check."""

    def __init__(self, home, replicas):
        self.port = free_port()
        self.log = home / "haproxy.log"
        servers = "\n".join(
            f"  server replica{number} 127.0.0.1:{replica.port} check inter 100ms fall 1 rise 1"
            for number, replica in enumerate(replicas)
        )
        file = home / "haproxy.cfg"
        file.write_text(f"""
global
  maxconn 1000
defaults
  mode http
  timeout connect 2s
  timeout client 120s
  timeout server 120s
  option redispatch
frontend clients
  bind 127.0.0.1:{self.port}
  default_backend replicas
backend replicas
  balance roundrobin
  option httpchk GET /readyz
{servers}
""")
        with self.log.open("wb") as log:
            arguments = ["haproxy", "-f", file, "-db"]
            self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for_port(self.port, self.process, lambda: self.log.read_text())

    def stop(self):
        self.process.kill()
        self.process.wait()


class Killer(threading.Thread):
    """Kills servers at random times, sometimes all of them, and starts them again."""

    def __init__(self, replicas, seed):
        super().__init__(daemon=True)
        self.replicas, self.random = replicas, random.Random(seed)
        self.kills, self.all_down = 0, 0
        self.failure = None
        self.ends = threading.Event()

    def run(self):
        try:
            while not self.ends.wait(self.random.uniform(0.1, 1.5)):
                is_all = self.random.random() < 0.1
                victims = self.replicas if is_all else [self.random.choice(self.replicas)]
                for victim in victims:
                    victim.kill()
                self.kills += len(victims)
                self.all_down += is_all
                time.sleep(self.random.uniform(0, 0.3))
                for victim in victims:
                    victim.start()
                for victim in victims:
                    victim.wait_until_ready()
        except BaseException as cause:  # The main thread reports it.
            self.failure = cause

    def end(self):
        self.ends.set()
        self.join()
