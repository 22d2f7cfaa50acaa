"""`python -m dea_runtimes.cpython_heap.reader PID DURATION_S LIMIT_MIB OUT`: JSON lines into OUT.

The last line says how it went: `end`, or `failure` with the reason.
"""

import json
import sys
from typing import Any

from dea_runtimes.cpython_heap.reader.failures import CannotLookError, TornError
from dea_runtimes.cpython_heap.reader.growth import observe_growth


def main() -> int:
    pid, duration_s, limit_mib, out = sys.argv[1:]
    sys.setrecursionlimit(5000)  # source files may be nested deeply
    with open(out, "w", encoding="utf-8", errors="backslashreplace") as file:

        def record(value: dict[str, Any]) -> None:
            file.write(json.dumps(value) + "\n")
            file.flush()

        try:
            observe_growth(int(pid), float(duration_s), int(limit_mib) << 20, record)
        except (CannotLookError, TornError) as error:
            record({"record": "failure", "reason": str(error)})
            return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
