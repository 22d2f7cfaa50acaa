# HEALTHY: makes a FIFO, keeps it open for writing and has nothing to say: the peer of fifo_reader.py.
import os
import signal

from lifeline import lifeline, ready, scratch

if __name__ == "__main__":
    lifeline()
    fifo = scratch() / "jobs"
    os.mkfifo(fifo)
    keep = os.open(fifo, os.O_RDWR)  # does not wait for the reader
    ready(fifo=fifo)
    signal.pause()
