# HEALTHY: a worker that waits in read() for the next job from the FIFO, which is empty.
import sys

from lifeline import lifeline, ready

if __name__ == "__main__":
    lifeline()
    with open(sys.argv[1], "rb") as jobs:
        ready()
        for job in jobs:
            print(job)
