"""The nearest memory limit of a cgroup, version 1 and 2, on trees made for the test."""

from pathlib import Path

from dea_linux.memory.limits import nearest, parse

MIB = 2**20


def group(folder: Path, **files: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def test_version_2_takes_the_group_with_least_left_and_spares_idle_cache(tmp_path: Path) -> None:
    root = tmp_path
    group(root, memory__stat="inactive_file 0")  # the root has no limit
    group(
        root / "pod",
        memory__max=100 * MIB,
        memory__current=80 * MIB,
        memory__stat=f"anon 1\ninactive_file {30 * MIB}",
        memory__events="oom 1\noom_kill 2",
    )
    group(root / "pod/app", memory__max=90 * MIB, memory__current=10 * MIB, memory__stat="anon 1")
    group(root / "pod/app/inner", memory__max="max", memory__current=10 * MIB)
    found = parse(nearest(root, "/pod/app/inner", version=2))
    assert found is not None
    assert (found.path, found.memory_limit_bytes, found.memory_bytes) == (
        "/pod",
        100 * MIB,
        50 * MIB,
    )
    assert (found.version, found.oom_kills) == (2, 2)


def test_version_1(tmp_path: Path) -> None:
    group(
        tmp_path / "docker/abc",
        memory__limit_in_bytes=64 * MIB,
        memory__usage_in_bytes=60 * MIB,
        memory__stat=f"total_inactive_file {20 * MIB}",
        memory__oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 1",
    )
    group(tmp_path, memory__limit_in_bytes=2**63 - 4096, memory__usage_in_bytes=1)
    found = parse(nearest(tmp_path, "/docker/abc", version=1))
    assert found is not None
    assert (found.version, found.path, found.memory_bytes) == (1, "/docker/abc", 40 * MIB)
    assert found.oom_kills == 1


def test_no_limit_and_a_path_outside_of_our_view(tmp_path: Path) -> None:
    group(tmp_path / "a", memory__max="max", memory__current=1)
    assert nearest(tmp_path, "/a", version=2) == ""
    assert nearest(tmp_path, "/../a", version=2) == ""
    assert parse("") is None
