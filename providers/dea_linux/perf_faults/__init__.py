"""Where in the code memory is touched for the first time: stacks of page faults, by perf."""

from dea_linux.perf_faults.backend import Sites

BACKENDS = (Sites(),)
