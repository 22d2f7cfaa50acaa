"""Each kind of line that strace writes, as strace 6.1 wrote it."""

from dea_linux.strace.lines import Call, Event, Trace


def read(*lines: str) -> tuple[list[Call | Event], Trace]:
    trace = Trace()
    return list(trace.read("".join(f"{line}\n" for line in lines).encode())), trace


def call(*lines: str) -> Call:
    (record,), trace = read(*lines)
    assert isinstance(record, Call)
    assert trace.bad_lines == 0
    return record


def test_a_call_that_returned() -> None:
    found = call('77    1796062713.888228 read(3</etc/a) = b>, ""..., 512) = 17 <0.000023>')
    assert (found.tid, found.at, found.name) == (77, 1796062713.888228, "read")
    assert (found.args, found.result) == (b'3</etc/a) = b>, ""..., 512', b"17")
    assert found.duration_s == 0.000023


def test_a_call_that_failed() -> None:
    found = call("77 1.5 connect(7, {sa_family=AF_INET}, 16) = -1 ECONNREFUSED (No) <0.5>")
    assert found.result == b"-1 ECONNREFUSED (No)"


def test_a_call_cut_in_two_by_another_thread() -> None:
    records, trace = read(
        '77 1.0 write(4<pipe:[9]>, "yyyy", 4 <unfinished ...>',
        "78 1.1 getpid() = 77 <0.000001>",
        "77 1.2 <... write resumed>) = 4 <0.200000>",
    )
    whole = records[1]
    assert isinstance(whole, Call)
    assert (whole.at, whole.args, whole.result) == (1.0, b'4<pipe:[9]>, "yyyy", 4', b"4")
    assert (whole.duration_s, whole.line) == (0.2, 3)
    assert not trace.pending


def test_a_call_that_was_begun_before_we_attached() -> None:
    found = call("77 1.2 <... epoll_wait resumed>[], 1, -1) = 0 <0.200000>")
    assert (found.name, found.result) == ("epoll_wait", b"0")


def test_calls_that_do_not_return_stay_pending() -> None:
    records, trace = read(
        "77 1.0 read(0</dev/tty>,  <detached ...>",
        "78 1.0 futex(0x1, FUTEX_WAIT, 2, NULL <unfinished ...>",
        "79 1.0 read(3,  <unfinished ...>",
        "79 1.0 <... read resumed> <unfinished ...>",
    )
    assert not records
    assert {thread: begun.name for thread, begun in trace.pending.items()} == {
        b"77": b"read",
        b"78": b"futex",
        b"79": b"read",
    }


def test_signals_and_ends() -> None:
    records, trace = read(
        "77 1.0 exit_group(3) = ?",
        "77 1.0 --- SIGSEGV {si_signo=SIGSEGV, si_addr=NULL} ---",
        "78 1.0 read(0,  <unfinished ...>",
        "78 1.0 +++ exited with 3 +++",
    )
    ended, hit, gone = records
    assert isinstance(ended, Call)
    assert ended.duration_s is None
    assert isinstance(hit, Event)
    assert hit.is_signal
    assert isinstance(gone, Event)
    assert (gone.what, gone.is_signal) == ("exited with 3", False)
    assert not trace.pending


def test_a_call_interrupted_by_a_signal() -> None:
    found = call("77 1.0 poll([{fd=3}], 1, -1) = ? ERESTART_RESTARTBLOCK (Interrupted) <0.1>")
    assert found.result.startswith(b"? ERESTART")


def test_lines_that_are_none_are_counted_and_the_first_is_kept() -> None:
    records, trace = read(
        "77 1.0 getpid() = 77 <0.000001>", "strace: oops", "77 x getpid(", "", "\x00\xff"
    )
    assert len(records) == 1
    assert (trace.bad_lines, trace.first_bad) == (4, "strace: oops\n")
