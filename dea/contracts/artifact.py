"""A file in the session's folder."""

from typing import Literal

from dea.contracts.wire import Count, Text, Wire

ArtifactKind = Literal[
    "raw_text",
    "flamegraph_svg",
    "folded_stacks",
    "heapsnapshot",
    "pcap",
    "json",
    "markdown",
    "log",
]


class Artifact(Wire):
    """`path` is relative to the session's folder."""

    path: Text
    kind: ArtifactKind
    bytes: Count
    truncated: bool | None = None
    description: str | None = None
