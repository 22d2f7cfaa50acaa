"""gdb: stacks of compiled code where eu-stack is missing or fails; it pauses the target longer."""

from dea_linux.gdb.backend import Dump

BACKENDS = (Dump(),)
