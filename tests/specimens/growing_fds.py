# FAULT: read_settings() opens settings.ini twenty times a second and keeps every file open.
import time
from pathlib import Path
from typing import IO

from lifeline import lifeline, ready, scratch

OPENED: list[IO[str]] = []


def read_settings(path: Path) -> str:
    settings = path.open()  # HOT
    OPENED.append(settings)
    return settings.read()


if __name__ == "__main__":
    lifeline()
    file = scratch() / "settings.ini"
    file.write_text("[server]\nworkers = 4\n")
    ready()
    while True:
        read_settings(file)
        time.sleep(0.05)
