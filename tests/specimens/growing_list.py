# FAULT: remember() puts every compressed page into the module's list PAGES and nobody takes one out.
import os
import time
import zlib

from lifeline import lifeline, ready

PAGES: list[bytes] = []


def render(number: int, noise: bytes) -> bytes:
    return b"page %d " % number + noise


def remember(page: bytes) -> None:
    PAGES.append(zlib.compress(page, 9))  # HOT


def serve() -> None:
    noise = os.urandom(16 << 10)
    number = 0
    while True:
        remember(render(number, noise))
        number += 1
        time.sleep(0.003)


if __name__ == "__main__":
    lifeline()
    ready()
    serve()
