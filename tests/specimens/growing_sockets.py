# FAULT: ask() opens a new connection to PORT twenty times a second and closes none.
import socket
import sys
import time

from lifeline import lifeline, ready

CONNECTIONS: list[socket.socket] = []


def ask(port: int) -> bytes:
    connection = socket.create_connection(("127.0.0.1", port))  # HOT
    CONNECTIONS.append(connection)
    connection.sendall(b"hello\n")
    return connection.recv(4096)


if __name__ == "__main__":
    lifeline()
    ready()
    while True:
        ask(int(sys.argv[1]))
        time.sleep(0.05)
