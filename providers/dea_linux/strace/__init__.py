"""System calls as strace decodes them."""

from dea_linux.strace.backend import StraceTrace

BACKENDS = (StraceTrace(),)
