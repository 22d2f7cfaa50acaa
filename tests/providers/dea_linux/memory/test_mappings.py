"""Which mapping grew, also when mappings were extended, merged or came anew."""

from dea_linux.memory.mappings import Mapping, growth, parse


def test_extended_merged_and_new_mappings() -> None:
    before = [
        Mapping(0x1000, 0x3000, 8192, "[heap]"),
        Mapping(0x7000, 0x8000, 4096, ""),
        Mapping(0x9000, 0xA000, 4096, ""),
    ]
    after = [
        Mapping(0x1000, 0x6000, 20480, "[heap]"),
        Mapping(0x7000, 0xA000, 12288, ""),  # two became one
        Mapping(0xC000, 0xD000, 4096, ""),
    ]
    assert growth(before, after) == {
        "[heap]": 12288,
        "anonymous mapping at 0x7000": 4096,
        "anonymous mapping at 0xc000": 4096,
    }


def test_names_may_hold_spaces_and_bad_lines_are_left_out() -> None:
    text = "1000-2000 4096 /tmp/a b\nnonsense\n2000-3000 8192 \n"
    assert [mapping.name for mapping in parse(text)] == ["/tmp/a b", ""]
