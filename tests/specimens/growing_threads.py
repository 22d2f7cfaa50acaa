# FAULT: starts a thread every 200 ms that waits in poll_upstream() for an event nobody sets.
import threading
import time

from lifeline import lifeline, ready

ANSWERED = threading.Event()


def poll_upstream() -> None:
    ANSWERED.wait()  # HOT


if __name__ == "__main__":
    lifeline()
    threading.stack_size(256 << 10)
    ready()
    while True:
        threading.Thread(target=poll_upstream, daemon=True).start()
        time.sleep(0.2)
