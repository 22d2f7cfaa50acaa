# HEALTHY: collects 30 MB in a second, hands it on, and starts again from nothing.
import os
import time

from lifeline import lifeline, ready


def collect() -> int:
    batch = []
    for _ in range(30):
        batch.append(os.urandom(1 << 20))
        time.sleep(0.03)
    return len(batch)


if __name__ == "__main__":
    lifeline()
    ready()
    while True:
        collect()
