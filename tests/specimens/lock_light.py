# HEALTHY twin of lock_contention.py: four threads share a lock that nobody keeps for long.
import threading
import time

from lifeline import lifeline, ready

LEDGER = threading.Lock()
balance = 0


def deposit() -> None:
    global balance
    while True:
        with LEDGER:
            balance += 1
        time.sleep(0.02)


if __name__ == "__main__":
    lifeline()
    threads = [threading.Thread(target=deposit, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    ready()
    for thread in threads:
        thread.join()
