"""Reads JavaScript stacks of a running node process from outside: nothing is opened or run in it.

V8 keeps frame pointers, and node tells the layout of its objects in symbols (`v8dbg_*`). Whatever
is found that way is checked before it is believed: types, ranges, and names against the source.
"""
