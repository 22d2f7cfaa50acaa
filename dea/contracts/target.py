"""What is examined."""

from typing import Literal

from dea.contracts.wire import Pid, Text, Wire

TargetKind = Literal["pid", "container", "pod", "command"]
Runtime = Literal["python", "node", "java", "go", "native", "unknown"]
ContainerRuntime = Literal["docker", "podman", "containerd", "k8s"]


class Container(Wire):
    """The container a target lives in."""

    runtime: ContainerRuntime
    id: str
    name: str | None = None
    image: str | None = None
    namespace: str | None = None


class Target(Wire):
    """A process, container, pod or launched command; `pids` are its nearest descendants."""

    kind: TargetKind
    id: Text
    pid: Pid | None = None
    comm: str | None = None
    cmdline: str | None = None
    pids: list[Pid] | None = None
    runtime: Runtime | None = None
    host: str = "local"
    container: Container | None = None
