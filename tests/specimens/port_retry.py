# FAULT: wants to listen on 127.0.0.1:PORT, which idle_tcp_server.py holds, and tries five times a second.
import socket
import sys
import time

from lifeline import lifeline, ready


def try_to_listen(port: int) -> socket.socket | None:
    try:
        return socket.create_server(("127.0.0.1", port))  # HOT
    except OSError as error:
        print(f"cannot listen on 127.0.0.1:{port}: {error}", file=sys.stderr, flush=True)
        return None


if __name__ == "__main__":
    lifeline()
    wanted = int(sys.argv[1])
    server = try_to_listen(wanted)
    ready(wanted=wanted)
    while server is None:
        time.sleep(0.2)
        server = try_to_listen(wanted)
    server.accept()
