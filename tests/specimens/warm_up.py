# HEALTHY: fills a cache of 20 MB during its first two seconds, then the size stays where it is.
import os
import time

from lifeline import lifeline, ready

CACHE: dict[int, bytes] = {}


def load(key: int) -> bytes:
    if key not in CACHE:
        CACHE[key] = os.urandom(100_000)
    return CACHE[key]


if __name__ == "__main__":
    lifeline()
    ready()
    for key in range(1_000_000):
        load(key % 200)
        time.sleep(0.01)
