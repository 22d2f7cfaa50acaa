"""The reader's records, one JSON object on each line."""

import json
from dataclasses import dataclass
from typing import Any, cast

Record = dict[str, Any]


@dataclass(frozen=True)
class Numbered:
    """A record and the line it stands in."""

    line: int
    record: Record

    def steps(self) -> list[Record]:
        return list(self.record.get("steps", []))


def read_records(text: str) -> tuple[list[Numbered], list[str]]:
    """The records, and lines that are none."""
    records: list[Numbered] = []
    bad: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            value = json.loads(line)
        except ValueError:
            value = None
        if isinstance(value, dict) and isinstance(cast(Record, value).get("record"), str):
            records.append(Numbered(number, cast(Record, value)))
        else:
            bad.append(line)
    return records, bad


def records_of(records: list[Numbered], name: str) -> list[Numbered]:
    return [numbered for numbered in records if numbered.record["record"] == name]
