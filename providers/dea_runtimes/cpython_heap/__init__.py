"""Which container of a running CPython grows and where it hangs, read from outside."""

from dea_runtimes.cpython_heap.backend import CPythonHeapGrowth

BACKENDS = (CPythonHeapGrowth(),)
