"""Paths that differ only in a number or a random part are told as one, others are not."""

from hypothesis import given
from hypothesis import strategies as st

from dea_linux.files.fold import fold


def test_numbers_random_names_and_random_folders() -> None:
    logs = [f"/tmp/x-{number}.log" for number in range(12)]
    uploads = [f"/tmp/upload_{name}" for name in ("k3jx_9qz", "pwfm2_ab", "zz1y0qrs")]
    folders = [f"/tmp/tmp{name}/data.db" for name in ("abcqwe", "bbxxzz", "qqpoiu")]
    folded = fold([*logs, *uploads, *folders])
    assert {folded[path] for path in logs} == {"/tmp/x-*.log"}
    assert {folded[path] for path in uploads} == {"/tmp/upload_*"}
    assert {folded[path] for path in folders} == {"/tmp/tmp*/data.db"}


def test_hashes_and_long_ids() -> None:
    paths = [f"/cache/{digest}.bin" for digest in ("9f86d081884c", "60303ae22b99", "fd61a03af4f7")]
    assert {*fold(paths).values()} == {"/cache/*.bin"}


def test_few_or_unrelated_paths_keep_their_names() -> None:
    paths = [
        "/etc/passwd",
        "/srv/app.sqlite",
        "/srv/app.sqlite-wal",
        "/var/log/1.log",
        "/var/log/2.log",
    ]
    assert fold(paths) == {path: path for path in paths}


@given(st.sets(st.text("ab1/.", max_size=8).map(lambda text: "/" + text), max_size=20))
def test_every_path_has_a_name(paths: set[str]) -> None:
    assert fold(paths).keys() == paths
