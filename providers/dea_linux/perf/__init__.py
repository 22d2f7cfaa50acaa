"""perf: samples of running threads, for every runtime."""

from dea_linux.perf.backend import Record

BACKENDS = (Record(),)
