# HEALTHY twin of growing_fds.py and growing_sockets.py: opens as often, and closes what it opened.
import socket
import sys
import time
from pathlib import Path

from lifeline import lifeline, ready, scratch


def read_settings(path: Path) -> str:
    with path.open() as settings:
        return settings.read()


def ask(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"hello\n")
        return connection.recv(4096)


if __name__ == "__main__":
    lifeline()
    file = scratch() / "settings.ini"
    file.write_text("[server]\nworkers = 4\n")
    ready()
    while True:
        read_settings(file)
        ask(int(sys.argv[1]))
        time.sleep(0.05)
