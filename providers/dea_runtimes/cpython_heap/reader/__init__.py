"""A program of its own that reads the heap of a running CPython and runs nothing in it.

It is a separate process so that the target is held for the copy only and never waits for another
thread of DEA, and so that the kernel lets the target go at once should the reader die.
"""
