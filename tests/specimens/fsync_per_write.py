# FAULT: append_record() calls fsync after each line of 80 bytes.
import os
from typing import IO

from lifeline import lifeline, ready, scratch


def append_record(journal: IO[bytes], record: bytes) -> None:
    journal.write(record)
    journal.flush()
    os.fsync(journal.fileno())  # HOT


def import_rows(journal: IO[bytes]) -> None:
    for row in range(2000):
        append_record(journal, b"%079d\n" % row)
    journal.truncate(0)


if __name__ == "__main__":
    lifeline()
    with (scratch() / "journal").open("ab") as journal:
        ready()
        while True:
            import_rows(journal)
