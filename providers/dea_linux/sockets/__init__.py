"""Sockets of a process, and who holds a port."""

from dea_linux.sockets.backend import SocketsDiag
from dea_linux.sockets.port_backend import SocketsPort

BACKENDS = (SocketsDiag(), SocketsPort())
