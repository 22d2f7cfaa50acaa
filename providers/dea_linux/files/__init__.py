"""Open descriptors of a process and its descendants, and how they change over a window."""

from dea_linux.files.backend import Window

BACKENDS = (Window(),)
