# HEALTHY twin of cpu_hot.py: the same work for 5 ms, then 95 ms of rest.
import time

from lifeline import lifeline, ready

BODY = "the quick brown fox jumps over the lazy dog " * 40


def checksum(body: str) -> int:
    a, b = 1, 0
    for letter in body:
        a, b = (a + ord(letter)) % 65521, (a + ord(letter) + b) % 65521
    return b << 16 | a


def serve() -> None:
    while True:
        until = time.monotonic() + 0.005
        while time.monotonic() < until:
            checksum(BODY)
        time.sleep(0.095)


if __name__ == "__main__":
    lifeline()
    ready()
    serve()
