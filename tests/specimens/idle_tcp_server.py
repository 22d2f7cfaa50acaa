# HEALTHY: listens on a port of HOST (127.0.0.1) and waits in accept() for clients that never come.
import socket
import sys

from lifeline import lifeline, ready

if __name__ == "__main__":
    lifeline()
    host = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1"
    with socket.create_server((host, 0)) as server:
        ready(port=server.getsockname()[1])
        while True:
            server.accept()[0].close()
