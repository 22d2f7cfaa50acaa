"""HotSpot virtual machines: thread dumps, taken through the door that they open for tools."""

from dea_runtimes.jvm.backend import Samples, Threads, Wall

BACKENDS = (Threads(), Samples(), Wall())
