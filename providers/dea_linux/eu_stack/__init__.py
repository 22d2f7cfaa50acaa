"""eu-stack of elfutils: stacks of compiled code with source lines, each thread paused for a moment."""

from dea_linux.eu_stack.backend import Dump

BACKENDS = (Dump(),)
