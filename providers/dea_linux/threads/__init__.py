"""Where each thread's wall time goes, from /proc."""

from dea_linux.threads.backend import ThreadsLook, ThreadsSample

BACKENDS = (ThreadsSample(), ThreadsLook())
