"""JavaScript functions of running node processes, read from outside."""

from dea_runtimes.v8.backend import Dump, Record, Wall

BACKENDS = (Record(), Wall(), Dump())
