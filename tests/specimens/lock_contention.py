# FAULT: audit() sleeps 300 ms at a time with LEDGER held, so three deposit() threads wait for it.
import threading
import time

from lifeline import lifeline, ready

LEDGER = threading.Lock()
balance = 0


def audit() -> None:
    while True:
        with LEDGER:
            time.sleep(0.3)
        time.sleep(0.005)


def deposit() -> None:
    global balance
    while True:
        with LEDGER:  # HOT
            balance += 1
        time.sleep(0.02)


if __name__ == "__main__":
    lifeline()
    threads = [threading.Thread(target=work, daemon=True) for work in [audit] + [deposit] * 3]
    for thread in threads:
        thread.start()
    ready()
    for thread in threads:
        thread.join()
