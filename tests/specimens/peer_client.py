# FAULT with `peer.py 0.5` at PORT: ask() waits in recv() nearly all the time. HEALTHY with `peer.py 0`.
import socket
import sys
import time

from lifeline import lifeline, ready


def ask(connection: socket.socket, question: bytes) -> bytes:
    connection.sendall(question + b"\n")
    return connection.recv(4096)  # HOT


def price_of(connection: socket.socket, article: int) -> bytes:
    return ask(connection, b"price of %d" % article)


if __name__ == "__main__":
    lifeline()
    upstream = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    ready()
    for number in range(1_000_000):
        price_of(upstream, number)
        time.sleep(0.02)
