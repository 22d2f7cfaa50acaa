"""Launches a command and keeps its exit code, also when DEA itself ends before the command does.

Run as `python -I -S keeper.py STATUS STDOUT STDERR ARGV...`. STATUS receives one JSON object:
{"pid": 1} once it runs, {"pid": 1, "exit_code": 0} when it has ended, {"error": "..."} when it
could not be started. It imports nothing of DEA, so that it starts fast and stays small.
"""

import json
import os
import subprocess
import sys


def write(status: str, value: dict[str, object]) -> None:
    with open(f"{status}.part", "w", opener=private) as file:
        json.dump(value, file)
    os.replace(f"{status}.part", status)


def private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def main() -> None:
    status, out, err, *argv = sys.argv[1:]
    with open(out, "ab", opener=private) as stdout, open(err, "ab", opener=private) as stderr:
        try:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True
            )
        except (OSError, ValueError) as error:
            write(status, {"error": str(error)})
            return
    write(status, {"pid": process.pid})
    write(status, {"pid": process.pid, "exit_code": process.wait()})


if __name__ == "__main__":
    main()
