"""What each tool takes. A field with a default may be left out."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from dea.contracts.target import TargetKind
from dea.contracts.wire import Text, Wire

Category = Literal["network", "file", "process", "signal", "memory", "all"]
Symptom = Literal["slow", "leak", "hang", "crash", "port_busy"]


class Arguments(Wire):
    """Base of all tool arguments: types are exact ("10" is not 10)."""

    model_config = ConfigDict(strict=True)


class NoArguments(Arguments):
    """For tools that take none."""


class InSession(Arguments):
    """For tools that need only a session."""

    session_id: Annotated[
        Text, Field(description="Session id from attach; a unique prefix will do")
    ]


class Attach(Arguments):
    target: Annotated[
        Text,
        Field(
            description="pid, process name, container name/id, k8s pod (ns/name), "
            "or a command line (with kind=command)"
        ),
    ]
    kind: Annotated[
        TargetKind | None,
        Field(
            description="Defaults to auto-detect: numeric → pid, else a running process of that name, else a command line"
        ),
    ] = None


class ListProcesses(Arguments):
    filter: Annotated[str | None, Field(description="Substring match on command / args / user")] = (
        None
    )
    limit: Annotated[int, Field(ge=1, le=500)] = 100


class TraceSyscalls(InSession):
    duration_s: Annotated[int, Field(ge=1, le=60)] = 10
    categories: list[Category] = ["all"]


class TimeBudget(InSession):
    duration_s: Annotated[int, Field(ge=1, le=60)] = 8


class ProfileCpu(InSession):
    duration_s: Annotated[int, Field(ge=1, le=60)] = 15
    consent: bool | None = None


class InspectFiles(InSession):
    window_s: Annotated[
        int, Field(ge=0, le=30, description="Observe fd growth over this many seconds")
    ] = 3


class CaptureTraffic(InSession):
    duration_s: Annotated[int, Field(ge=1, le=30)] = 10
    filter: Annotated[
        str | None, Field(description="Extra BPF filter ANDed with the target's ports")
    ] = None
    consent: Annotated[
        bool | None,
        Field(description="Required. Packet capture may contain secrets; ask the user first."),
    ] = None


class SnapshotMemory(InSession):
    heap: Annotated[
        bool, Field(description="Take a heap snapshot where supported. False: metrics only.")
    ] = True
    window_s: Annotated[
        int, Field(ge=0, le=30, description="Sample memory over this many seconds")
    ] = 3


class DiffRuns(InSession):
    a: Annotated[Text, Field(description="run id of the earlier result")]
    b: Annotated[Text, Field(description="run id of the later result")]


class Report(InSession):
    out: Annotated[str | None, Field(description="Optional path to also write the markdown to")] = (
        None
    )


class Investigate(InSession):
    symptom: Symptom
    port: Annotated[
        int | None, Field(ge=1, le=65535, description="port_busy: the port that is taken")
    ] = None
    duration_s: Annotated[
        int | None, Field(ge=1, le=120, description="How long to observe; default by symptom")
    ] = None
    consent: Annotated[
        bool | None, Field(description="Allow steps that open a debug port or dump the heap")
    ] = None


BY_TOOL: dict[str, type[Arguments]] = {
    "readiness": NoArguments,
    "attach": Attach,
    "detach": InSession,
    "list_processes": ListProcesses,
    "trace_syscalls": TraceSyscalls,
    "time_budget": TimeBudget,
    "profile_cpu": ProfileCpu,
    "dump_stacks": InSession,
    "inspect_sockets": InSession,
    "inspect_files": InspectFiles,
    "capture_traffic": CaptureTraffic,
    "snapshot_memory": SnapshotMemory,
    "diff_runs": DiffRuns,
    "container_info": InSession,
    "report": Report,
    "investigate": Investigate,
}
