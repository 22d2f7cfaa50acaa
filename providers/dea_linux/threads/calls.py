"""How system calls wait: which kind of wait a call is, and which takes a descriptor first."""

from typing import Literal

from dea_linux.threads.syscall_numbers import syscall_names

Kind = Literal[
    "futex",
    "sleep",
    "poll",
    "select",
    "epoll",
    "child",
    "signal",
    "sync",
    "file_lock",
    "fcntl",
    "accept",
    "connect",
    "receive",
    "send",
    "read",
    "write",
    "file",  # changes or lists a file by descriptor
    "path",  # looks up a path
]

_CALLS: dict[Kind, str] = {
    "futex": "futex futex_wait futex_waitv",
    "sleep": "nanosleep clock_nanosleep",
    "poll": "poll ppoll",
    "select": "select pselect6",
    "epoll": "epoll_wait epoll_pwait epoll_pwait2",
    "child": "wait4 waitid vfork",
    "signal": "pause rt_sigsuspend rt_sigtimedwait",
    "sync": "fsync fdatasync syncfs sync_file_range",
    "file_lock": "flock",
    "fcntl": "fcntl",
    "accept": "accept accept4",
    "connect": "connect",
    "receive": "recvfrom recvmsg recvmmsg",
    "send": "sendto sendmsg sendmmsg",
    "read": "read readv pread64 preadv preadv2 splice",
    "write": "write writev pwrite64 pwritev pwritev2 sendfile",
    "file": "getdents getdents64 ftruncate fallocate fstat copy_file_range fadvise64 readahead",
    "path": (
        "open openat openat2 creat stat lstat newfstatat statx access faccessat faccessat2 "
        "unlink unlinkat rename renameat renameat2 mkdir mkdirat rmdir truncate link linkat "
        "symlink symlinkat readlink readlinkat chmod fchmodat chown fchownat utimensat execve "
        "execveat sync msync statfs io_getevents io_pgetevents"
    ),
}
KIND_BY_NAME: dict[str, Kind] = {
    name: kind for kind, names in _CALLS.items() for name in names.split()
}
TAKES_DESCRIPTOR: frozenset[Kind] = frozenset(
    {
        *("epoll", "sync", "file_lock", "fcntl", "accept", "connect"),
        *("receive", "send", "read", "write", "file"),
    }
)
WATCHES_DESCRIPTORS: frozenset[Kind] = frozenset({"epoll", "poll", "select"})

# futex(2): the operation is the second argument, with flags above it.
FUTEX_COMMAND = 0x7F
FUTEX_PRIVATE = 0x80
FUTEX_WAIT, FUTEX_LOCK_PI, FUTEX_WAIT_BITSET, FUTEX_LOCK_PI2 = 0, 6, 9, 13
FUTEX_CONTENDED = 2  # the value that glibc's pthread_mutex_lock waits on
MUTEX_BYTES = 20  # struct __pthread_mutex_s: lock, count, owner, users, kind


def kinds_by_number(arch: str) -> dict[int, Kind]:
    """What kind of wait each system call number is on this architecture."""
    return {
        number: KIND_BY_NAME[name]
        for number, name in syscall_names(arch).items()
        if name in KIND_BY_NAME
    }


def parse_call(text: str) -> tuple[int | None, list[int]]:
    """Number and arguments of a line of /proc/PID/task/TID/syscall.

    The number is -1 outside of a system call, and None for a thread that runs or is unreadable.
    """
    words = text.split()
    if not words or not words[0].lstrip("-").isdigit():
        return None, []
    return int(words[0]), [int(word, 16) for word in words[1:7]]
