"""py-spy: stacks of CPython processes, read from outside without pausing them."""

from dea_runtimes.py_spy.dump import Dump
from dea_runtimes.py_spy.record import Record, Wall

BACKENDS = (Record(), Wall(), Dump())
