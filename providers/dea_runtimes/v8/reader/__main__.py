"""`python -m dea_runtimes.v8.reader PID,... DURATION_S RATE_HZ cpu|wall OUT`: JSON lines into OUT.

The last line says how it went: `end`, or `failure` with the reason.
"""

import json
import sys
from typing import Any

from dea_runtimes.cpython_heap.reader.failures import CannotLookError, TornError
from dea_runtimes.v8.reader.record import record_samples


def main() -> int:
    words, duration_s, rate_hz, scope, out = sys.argv[1:]
    pids = [int(word) for word in words.split(",")]
    with open(out, "w", encoding="utf-8", errors="backslashreplace") as file:

        def record(value: dict[str, Any]) -> None:
            file.write(json.dumps(value) + "\n")

        try:
            record_samples(
                pids, float(duration_s), int(rate_hz), record, waiting_too=scope == "wall"
            )
        except (CannotLookError, TornError) as error:
            record({"record": "failure", "reason": str(error)})
            return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
