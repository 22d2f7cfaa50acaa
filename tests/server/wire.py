"""A server in a process of its own, spoken to line by line, so that tests can be rude to it."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "dea", "mcp"]
REPLY_WITHIN_S = 60.0
# A server ends within two seconds; the rest is for a machine that is busy with other things.
END_WITHIN_S = 2.0 + 4.0

Message = dict[str, Any]


@dataclass
class Wire:
    """Messages out and in. Replies are matched by id; notifications are kept in `heard`."""

    process: "subprocess.Popen[bytes]"
    log: Path
    heard: list[Message] = field(default_factory=list[Message])
    _replies: dict[int, Message] = field(default_factory=dict[int, Message])
    _lines: "queue.Queue[bytes]" = field(default_factory=lambda: queue.Queue[bytes]())
    _sent: int = 0

    def __post_init__(self) -> None:
        assert self.process.stdout is not None
        threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True).start()

    def ask(self, method: str, params: Message) -> Message:
        """The result of one request."""
        return self.reply(self.request(method, params))

    def call(self, tool: str, arguments: Message) -> Message:
        """The structured content of one tool call."""
        content: Message = self.ask("tools/call", {"name": tool, "arguments": arguments})[
            "structuredContent"
        ]
        return content

    def request(self, method: str, params: Message) -> int:
        self._sent += 1
        self.send({"jsonrpc": "2.0", "id": self._sent, "method": method, "params": params})
        return self._sent

    def notify(self, method: str, params: Message) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, message: Message) -> None:
        self.raw(json.dumps(message).encode() + b"\n")

    def raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def reply(self, number: int) -> Message:
        while number not in self._replies:
            message = json.loads(self._lines.get(timeout=REPLY_WITHIN_S))
            if "id" in message:
                self._replies[message["id"]] = message
            else:
                self.heard.append(message)
        result: Message = self._replies[number]["result"]
        return result

    def has_reply(self, number: int) -> bool:
        return number in self._replies

    def hang_up(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> int:
        """The exit code, once the server has ended by itself."""
        return self.process.wait(END_WITHIN_S)

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def _read(self, stdout: IO[bytes]) -> None:
        for line in stdout:
            self._lines.put(line)


@contextmanager
def serving(folder: Path) -> Generator[Wire]:
    """A server with a client that has introduced itself."""
    log = folder / "server.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            COMMAND,
            cwd=ROOT,
            env=os.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    wire = Wire(process, log)
    try:
        client = {"name": "test", "version": "1"}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        wire.ask("initialize", hello)
        wire.notify("notifications/initialized", {})
        yield wire
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()
