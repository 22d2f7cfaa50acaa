"""Memory, threads and descriptors of a process and its descendants over a window."""

from dea_linux.memory.backend import Series

BACKENDS = (Series(),)
