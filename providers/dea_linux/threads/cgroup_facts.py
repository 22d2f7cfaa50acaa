"""CPU limits of cgroups, and how long they throttled in the window."""

from dea.contracts.data import Cgroup
from dea.contracts.evidence import Fact
from dea_linux.threads.stored import HOST, ProcessRecord, Stored
from dea_linux.threads.things import safe


def throttled_ns(stored: Stored, process: ProcessRecord) -> int:
    """The most that any cgroup of the process was throttled: an upper bound for each thread."""
    paths = {line.split(":", 2)[2] for line in process.raw.get("cgroup", "").splitlines()}
    longest = 0
    for folder, before in stored.host.get("cgroups_begin", {}).items():
        path = before["path"]
        if any(own == path or own.startswith(path + "/") for own in paths):
            after = stored.host.get("cgroups_end", {}).get(folder, before)
            longest = max(longest, _throttled(after) - _throttled(before))
    return longest


def cgroup_facts(stored: Stored) -> list[Fact]:
    """Cgroups that limit the CPU or did throttle."""
    facts: list[Fact] = []
    for folder, before in stored.host.get("cgroups_begin", {}).items():
        after = stored.host.get("cgroups_end", {}).get(folder, before)
        limit, throttled_s = _limit_cores(before), (_throttled(after) - _throttled(before)) / 1e9
        if limit is None and throttled_s <= 0:
            continue
        version = 1 if "cpu.cfs_quota_us" in before else 2
        data = Cgroup(
            path=safe(before["path"]),
            version=version,
            cpu_limit_cores=limit,
            throttled_s=round(throttled_s, 3),
        )
        allowed = f"allows {limit:g} CPUs" if limit else "has no CPU limit"
        summary = f"cgroup {data.path} {allowed} and throttled for {throttled_s:.2f} s"
        facts.append(Fact(data, summary, HOST, (1, 1)))
    return facts[:4]


def frozen(stored: Stored, process: ProcessRecord) -> str:
    """The frozen cgroup that the process is in, or nothing."""
    paths = {line.split(":", 2)[2] for line in process.raw.get("cgroup", "").splitlines()}
    for files in stored.host.get("cgroups_begin", {}).values():
        is_frozen = "frozen 1" in files.get("cgroup.events", "") or files.get(
            "freezer.state", ""
        ).startswith("FRO")
        if is_frozen and any(own == files["path"] for own in paths):
            return safe(files["path"])
    return ""


def _throttled(files: dict[str, str]) -> int:
    """Nanoseconds: version 1 counts throttled_time in them, version 2 throttled_usec."""
    for line in files.get("cpu.stat", "").splitlines():
        name, _, value = line.partition(" ")
        if name in ("throttled_time", "throttled_usec"):
            return int(value) * (1 if name == "throttled_time" else 1000)
    return 0


def _limit_cores(files: dict[str, str]) -> float | None:
    quota, period = files.get("cpu.max", "").split() or ("max", "100000")
    if "cpu.cfs_quota_us" in files:
        quota, period = files["cpu.cfs_quota_us"].strip(), files.get("cpu.cfs_period_us", "100000")
    return None if quota in ("max", "-1") else round(int(quota) / int(period), 3)
