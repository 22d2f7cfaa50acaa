# HEALTHY twin of fsync_per_write.py: a hundred lines at once, one fsync a second.
import os
import time

from lifeline import lifeline, ready, scratch

if __name__ == "__main__":
    lifeline()
    with (scratch() / "journal").open("ab") as journal:
        ready()
        while True:
            for row in range(100):
                journal.write(b"%079d\n" % row)
            journal.flush()
            os.fsync(journal.fileno())
            journal.truncate(0)
            time.sleep(1)
