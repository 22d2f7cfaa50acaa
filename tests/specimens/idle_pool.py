# HEALTHY: a pool of eight threads with nothing to do.
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

from lifeline import lifeline, ready

if __name__ == "__main__":
    lifeline()
    started = threading.Barrier(9)
    pool = ThreadPoolExecutor(8)
    for _ in range(8):
        pool.submit(started.wait)
    started.wait()
    ready()
    signal.pause()
