"""Samples the threads of some processes for a while, and notes what they wait for."""

import os
import platform
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from dea_linux import procfs
from dea_linux.threads import surroundings
from dea_linux.threads.calls import kinds_by_number
from dea_linux.threads.descriptors import Descriptors
from dea_linux.threads.holders import find_holders
from dea_linux.threads.socket_log import SocketLog
from dea_linux.threads.watch import Watch

MOST_THREADS = 200
MOST_PROCESSES = 64
_MOST_PEERS = 8  # processes that hold the other end of what the target waits on
_MOST_PEER_THREADS = 32
_FAST_HZ, _SLOW_HZ, _SLOW_ABOVE = 100, 20, 50
_MOST_LOOKS = 60_000  # threads times samples: bounds the time and the stored bytes
_COST_LIMIT = 0.1  # of one CPU
_DISCOVER_S = 0.1
_PEERS_AFTER = 0.25  # of the window


@dataclass
class Sampler:
    """`run` blocks; set `stop` to end it early. Afterwards the other fields hold what was seen."""

    pids: tuple[int, ...]
    duration_s: float
    stop: threading.Event = field(default_factory=threading.Event)
    descriptors: Descriptors = field(default_factory=Descriptors)
    threads: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    lines: list[str] = field(default_factory=list[str])
    processes: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    holders: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    host: dict[str, Any] = field(default_factory=dict[str, Any])
    facts: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        self._kinds = kinds_by_number(platform.machine())
        self._watches: dict[int, Watch] = {}
        self._family = set(self.pids[:MOST_PROCESSES])
        self._peers: set[int] = set()
        self._searched: set[str] = set()  # links whose holders were looked for
        self._left_out = 0
        self._samples = 0
        self.sockets = SocketLog(self.pids[0])

    def run(self) -> None:
        """Sample until the time is over or `stop` is set."""
        cpu_before, self._began = time.thread_time(), time.monotonic()
        self._begin()
        try:
            self._sample_until(self._began + self.duration_s)
        finally:
            self._end()
            window_s = time.monotonic() - self._began
            cpu_s = time.thread_time() - cpu_before
            self.facts |= {
                "arch": platform.machine(),
                "window_s": round(window_s, 4),
                "samples": self._samples,
                "own_cpu_s": round(cpu_s, 4),
                "threads_left_out": self._left_out,
                "processes_left_out": max(0, len(self.pids) - MOST_PROCESSES),
                "sockets_error": self.sockets.error,
                "clock_ticks": os.sysconf("SC_CLK_TCK"),
                "cpus": os.cpu_count() or 1,
                "pids": list(self.pids[:MOST_PROCESSES]),
            }

    def _begin(self) -> None:
        self._all_stats = surroundings.read_all_stats() if self.duration_s else {}
        self._discover()
        mounts = procfs.read_text("/proc/self/mountinfo")
        cgroups = {process["cgroup"] for process in self.processes.values()}
        folders = [pair for text in cgroups for pair in surroundings.cgroup_folders(text, mounts)]
        self._folders = list(dict.fromkeys(folders))
        self.host["begin"] = surroundings.read_host()
        self.host["cgroups_begin"] = surroundings.read_cgroups(self._folders)

    def _sample_until(self, end_s: float) -> None:
        next_s = discover_s = time.monotonic()
        peers_s = self._began + self.duration_s * _PEERS_AFTER
        while not self.stop.is_set():
            began_s, cpu_before_s = time.monotonic(), time.thread_time()
            if began_s >= discover_s:
                self._discover()
                discover_s = began_s + _DISCOVER_S
            self._look()
            cost_s = time.thread_time() - cpu_before_s
            if began_s >= peers_s:
                self._find_peers()
                self._look()
                peers_s = end_s + 1
            self.sockets.ask_when_due(self._now_ms(), self._inodes())
            now_s = time.monotonic()
            if now_s >= end_s:
                break
            pause_s = max(1 / self._rate_hz(), cost_s / _COST_LIMIT)
            next_s = max(next_s + pause_s, now_s)
            self.stop.wait(min(next_s, end_s) - now_s)

    def _end(self) -> None:
        if self.duration_s or self.descriptors.links != self._searched:
            self._find_peers()
        for tid in list(self._watches):
            self._finish(tid)
        for pid, process in self.processes.items():
            process["stat"].append(procfs.read_text(f"/proc/{pid}/stat").strip())
        self.host["end"] = surroundings.read_host()
        self.host["cgroups_end"] = surroundings.read_cgroups(self._folders)
        if self.duration_s:
            after = surroundings.read_all_stats()
            self.host["neighbours"] = surroundings.busy_neighbours(
                self._all_stats, after, self.processes
            )
        self.descriptors.close()

    def _rate_hz(self) -> float:
        count = max(1, len(self._watches))
        fastest = _FAST_HZ if count <= _SLOW_ABOVE else _SLOW_HZ
        return max(5.0, min(fastest, _MOST_LOOKS / (count * max(self.duration_s, 1.0))))

    def _look(self) -> None:
        at_ms = self._now_ms()
        self._samples += 1
        for tid, watch in list(self._watches.items()):
            if not watch.look(at_ms):
                self._finish(tid)

    def _finish(self, tid: int) -> None:
        watch = self._watches.pop(tid)
        record = watch.finish()
        first_line = len(self.lines) + 1
        self.lines += watch.lines
        self.threads.append(record | {"lines": [first_line, len(self.lines)]})

    def _discover(self) -> None:
        """Threads and children that are new."""
        for pid in list(self._family):
            for child in procfs.children(pid):
                if child not in self._family and len(self._family) < MOST_PROCESSES:
                    self._family.add(child)
        for pid in (*self._family, *self._peers):
            self._discover_threads(pid, peer=pid in self._peers)

    def _discover_threads(self, pid: int, *, peer: bool) -> None:
        tids = procfs.threads(pid)
        if tids and pid not in self.processes:
            stat = procfs.read_text(f"/proc/{pid}/stat").strip()
            about = surroundings.describe_process(pid)
            self.processes[pid] = {"pid": pid, "peer": peer, "stat": [stat], **about}
        limit = MOST_THREADS + (_MOST_PEER_THREADS if peer else 0)
        fresh = [tid for tid in tids if tid not in self._watches]
        room = max(0, limit - len(self._watches))
        self._left_out = max(self._left_out, len(fresh) - room)
        for tid in fresh[:room]:
            self._watches[tid] = Watch(pid, tid, self._kinds, self.descriptors, peer=peer)

    def _find_peers(self) -> None:
        """Who holds the other ends; those processes are sampled too from now on."""
        at_ms, inodes = self._now_ms(), self._inodes()
        if inodes:
            self.sockets.ask(at_ms, inodes, everything=True)
            self.sockets.ask_unix(at_ms, inodes)
        self._searched = set(self.descriptors.links)
        links = self._searched | {f"socket:[{inode}]" for inode in self.sockets.peers}
        found = find_holders(links)
        self.holders += [holder for holder in found if holder not in self.holders]
        self.host["locks"] = surroundings.read_contended_locks()
        others = {holder["holder"] for holder in self.holders} - self._family - {os.getpid()}
        self._peers |= set(sorted(others)[: _MOST_PEERS - len(self._peers)])
        self._discover()

    def _inodes(self) -> set[int]:
        return {int(x[8:-1]) for x in self.descriptors.links if x.startswith("socket:[")}

    def _now_ms(self) -> int:
        return int((time.monotonic() - self._began) * 1000)
