"""System call numbers of Linux, by architecture: data only.

Each line is a number and the names of the calls that have it and the following numbers. From
arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h (aarch64, riscv64).
"""

_X86_64 = """
0 read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction
14 rt_sigprocmask rt_sigreturn ioctl pread64 pwrite64 readv writev access pipe select
24 sched_yield mremap msync mincore madvise shmget shmat shmctl dup dup2 pause nanosleep
36 getitimer alarm setitimer getpid sendfile socket connect accept sendto recvfrom sendmsg
47 recvmsg shutdown bind listen getsockname getpeername socketpair setsockopt getsockopt clone
57 fork vfork execve exit wait4 kill uname semget semop semctl shmdt msgget msgsnd msgrcv
71 msgctl fcntl flock fsync fdatasync truncate ftruncate getdents getcwd chdir fchdir rename
83 mkdir rmdir creat link unlink symlink readlink chmod fchmod chown fchown lchown umask
96 gettimeofday getrlimit getrusage sysinfo times ptrace getuid syslog getgid setuid setgid
107 geteuid getegid setpgid getppid getpgrp setsid setreuid setregid getgroups setgroups
117 setresuid getresuid setresgid getresgid getpgid setfsuid setfsgid getsid capget capset
127 rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend sigaltstack utime mknod uselib
135 personality ustat statfs fstatfs sysfs getpriority setpriority sched_setparam
143 sched_getparam sched_setscheduler sched_getscheduler sched_get_priority_max
147 sched_get_priority_min sched_rr_get_interval mlock munlock mlockall munlockall vhangup
154 modify_ldt pivot_root _sysctl prctl arch_prctl adjtimex setrlimit chroot sync acct
164 settimeofday mount umount2 swapon swapoff reboot sethostname setdomainname iopl ioperm
174 create_module init_module delete_module get_kernel_syms query_module quotactl nfsservctl
181 getpmsg putpmsg afs_syscall tuxcall security gettid readahead setxattr lsetxattr fsetxattr
191 getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr lremovexattr
199 fremovexattr tkill time futex sched_setaffinity sched_getaffinity set_thread_area io_setup
207 io_destroy io_getevents io_submit io_cancel get_thread_area lookup_dcookie epoll_create
214 epoll_ctl_old epoll_wait_old remap_file_pages getdents64 set_tid_address restart_syscall
220 semtimedop fadvise64 timer_create timer_settime timer_gettime timer_getoverrun
226 timer_delete clock_settime clock_gettime clock_getres clock_nanosleep exit_group
232 epoll_wait epoll_ctl tgkill utimes vserver mbind set_mempolicy get_mempolicy mq_open
241 mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr kexec_load waitid add_key
249 request_key keyctl ioprio_set ioprio_get inotify_init inotify_add_watch inotify_rm_watch
256 migrate_pages openat mkdirat mknodat fchownat futimesat newfstatat unlinkat renameat
265 linkat symlinkat readlinkat fchmodat faccessat pselect6 ppoll unshare set_robust_list
274 get_robust_list splice tee sync_file_range vmsplice move_pages utimensat epoll_pwait
282 signalfd timerfd_create eventfd fallocate timerfd_settime timerfd_gettime accept4
289 signalfd4 eventfd2 epoll_create1 dup3 pipe2 inotify_init1 preadv pwritev rt_tgsigqueueinfo
298 perf_event_open recvmmsg fanotify_init fanotify_mark prlimit64 name_to_handle_at
304 open_by_handle_at clock_adjtime syncfs sendmmsg setns getcpu process_vm_readv
311 process_vm_writev kcmp finit_module sched_setattr sched_getattr renameat2 seccomp
318 getrandom memfd_create kexec_file_load bpf execveat userfaultfd membarrier mlock2
326 copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc pkey_free statx io_pgetevents
334 rseq
424 pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount
430 fsopen fsconfig fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd
439 faccessat2 process_madvise epoll_pwait2 mount_setattr quotactl_fd landlock_create_ruleset
445 landlock_add_rule landlock_restrict_self memfd_secret process_mrelease futex_waitv
450 set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack futex_wake futex_wait
456 futex_requeue
"""

_GENERIC = """
0 io_setup io_destroy io_submit io_cancel io_getevents setxattr lsetxattr fsetxattr getxattr
9 lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr
17 getcwd lookup_dcookie eventfd2 epoll_create1 epoll_ctl epoll_pwait dup dup3 fcntl
26 inotify_init1 inotify_add_watch inotify_rm_watch ioctl ioprio_set ioprio_get flock mknodat
34 mkdirat unlinkat symlinkat linkat renameat umount2 mount pivot_root nfsservctl statfs
44 fstatfs truncate ftruncate fallocate faccessat chdir fchdir chroot fchmod fchmodat fchownat
55 fchown openat close vhangup pipe2 quotactl getdents64 lseek read write readv writev pread64
68 pwrite64 preadv pwritev sendfile pselect6 ppoll signalfd4 vmsplice splice tee readlinkat
79 newfstatat fstat sync fsync fdatasync sync_file_range timerfd_create timerfd_settime
87 timerfd_gettime utimensat acct capget capset personality exit exit_group waitid
96 set_tid_address unshare futex set_robust_list get_robust_list nanosleep getitimer setitimer
104 kexec_load init_module delete_module timer_create timer_gettime timer_getoverrun
110 timer_settime timer_delete clock_settime clock_gettime clock_getres clock_nanosleep syslog
117 ptrace sched_setparam sched_setscheduler sched_getscheduler sched_getparam
122 sched_setaffinity sched_getaffinity sched_yield sched_get_priority_max
126 sched_get_priority_min sched_rr_get_interval restart_syscall kill tkill tgkill sigaltstack
133 rt_sigsuspend rt_sigaction rt_sigprocmask rt_sigpending rt_sigtimedwait rt_sigqueueinfo
139 rt_sigreturn setpriority getpriority reboot setregid setgid setreuid setuid setresuid
148 getresuid setresgid getresgid setfsuid setfsgid times setpgid getpgid getsid setsid
158 getgroups setgroups uname sethostname setdomainname getrlimit setrlimit getrusage umask
167 prctl getcpu gettimeofday settimeofday adjtimex getpid getppid getuid geteuid getgid
177 getegid gettid sysinfo mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify
185 mq_getsetattr msgget msgctl msgrcv msgsnd semget semctl semtimedop semop shmget shmctl
196 shmat shmdt socket socketpair bind listen accept connect getsockname getpeername sendto
207 recvfrom setsockopt getsockopt shutdown sendmsg recvmsg readahead brk munmap mremap
217 add_key request_key keyctl clone execve mmap fadvise64 swapon swapoff mprotect msync mlock
229 munlock mlockall munlockall mincore madvise remap_file_pages mbind get_mempolicy
237 set_mempolicy migrate_pages move_pages rt_tgsigqueueinfo perf_event_open accept4 recvmmsg
260 wait4 prlimit64 fanotify_init fanotify_mark name_to_handle_at open_by_handle_at
266 clock_adjtime syncfs setns sendmmsg process_vm_readv process_vm_writev kcmp finit_module
274 sched_setattr sched_getattr renameat2 seccomp getrandom memfd_create bpf execveat
282 userfaultfd membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc
290 pkey_free statx io_pgetevents rseq kexec_file_load
403 clock_gettime64 clock_settime64 clock_adjtime64 clock_getres_time64 clock_nanosleep_time64
408 timer_gettime64 timer_settime64 timerfd_gettime64 timerfd_settime64 utimensat_time64
413 pselect6_time64 ppoll_time64
416 io_pgetevents_time64 recvmmsg_time64 mq_timedsend_time64 mq_timedreceive_time64
420 semtimedop_time64 rt_sigtimedwait_time64 futex_time64 sched_rr_get_interval_time64
424 pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount
430 fsopen fsconfig fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd
439 faccessat2 process_madvise epoll_pwait2 mount_setattr quotactl_fd landlock_create_ruleset
445 landlock_add_rule landlock_restrict_self memfd_secret process_mrelease futex_waitv
450 set_mempolicy_home_node cachestat fchmodat2 map_shadow_stack futex_wake futex_wait
456 futex_requeue
"""


def _read(table: str) -> dict[int, str]:
    numbers: dict[int, str] = {}
    for line in table.strip().splitlines():
        first, *names = line.split()
        numbers.update(enumerate(names, int(first)))
    return numbers


_TABLES = {"x86_64": _X86_64, "aarch64": _GENERIC, "riscv64": _GENERIC}


def syscall_names(arch: str) -> dict[int, str]:
    """Names by number, for a name of platform.machine(); empty when it is not known here."""
    return _read(_TABLES.get(arch, ""))
