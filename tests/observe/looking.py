"""What tests of a look do and ask."""

from typing import Any

from dea.backend import Instruments, Request
from dea.tools.run import Run
from tests.backends import Scripted


async def save_one(_request: Request, instruments: Instruments) -> dict[str, Any]:
    instruments.save("raw.txt", b"caf\xc3\xa9 \xff\n")
    return {"rate": 99}


async def look(run: Run, *backends: Scripted) -> None:
    await run.observe(await run.request(), backends=backends)  # type: ignore[arg-type]


def artifact_names(run: Run) -> list[str]:
    return sorted(path.name for path in run.stored()[0].artifacts.iterdir())
