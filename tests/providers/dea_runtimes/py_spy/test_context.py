"""What a line of Python does, read from the text of its function."""

from dea_runtimes.py_spy.context import LineContext, line_context
from dea_runtimes.py_spy.source import Function

FIRST = 40  # where the functions stand in their file


def describe(text: str, marker: str = "HOT") -> LineContext:
    text = text.strip("\n")
    number = next(n for n, line in enumerate(text.split("\n")) if marker in line)
    found = line_context([Function("/srv/a.py", FIRST, text)], "/srv/a.py", FIRST + number)
    assert found is not None
    return found


def test_a_call_in_a_loop_over_data() -> None:
    found = describe("""
def list_orders(db):
    orders = db.execute("SELECT id").fetchall()
    for order in orders:
        rows = db.execute("SELECT x", order)  # HOT
        print(rows)
""")
    assert (found.in_loop, found.calls) == (True, ["db.execute"])
    assert found.loop_line == FIRST + 2
    assert found.loop_calls == ["db.execute", "print"]
    assert set(found.fed_by) == {"db.execute", "fetchall"}
    assert found.uses_item


def test_what_a_loop_goes_over_runs_once() -> None:
    found = describe("""
def show(db):
    for row in db.execute("SELECT x"):  # HOT
        print(row)
""")
    assert (found.in_loop, found.loop_line) == (False, None)


def test_a_comprehension_is_a_loop_but_what_it_goes_over_is_not_in_it() -> None:
    found = describe("""
def names(db):
    return {key: total(items(db, key)) for key in db.execute("x").fetchall()}  # HOT
""")
    assert set(found.calls) == {"total", "items"}
    assert set(found.fed_by) == {"db.execute", "fetchall"}
    assert found.uses_item


def test_a_loop_that_keeps_the_program_going_is_not_over_data() -> None:
    for head in ("while True:", "while self.running:", "while not stop.is_set():"):
        found = describe(f"""
def serve(self):
    {head}
        handle(db)  # HOT
""")
        assert (found.in_loop, found.loop_line) == (True, None)


def test_a_driver_loop_does_not_hand_on_its_item() -> None:
    found = describe("""
def main(db):
    for _ in range(1000):
        report(db)  # HOT
""")
    assert found.loop_line == FIRST + 1
    assert not found.uses_item


def test_the_line_of_a_call_that_spans_lines() -> None:
    found = describe("""
    def run(self):
        for item in items:
            (self.db
                .execute(  # HOT
                    item))
""")
    assert found.calls == ["self.db.execute"]
    assert found.in_loop


def test_a_method_keeps_its_line_numbers() -> None:
    found = describe("""
    def run(self):
        text = '''
less indented'''
        for item in items:
            work(item)  # HOT
""")
    assert (found.text, found.loop_line) == ("work(item)  # HOT", FIRST + 3)


def test_hidden_secrets_do_not_hide_the_code() -> None:
    found = describe("""
def login(db):
    password = <secret>
    for user in users:
        db.execute(user, password)  # HOT
""")
    assert found.calls == ["db.execute"]


def test_text_that_cannot_be_parsed_is_still_shown() -> None:
    found = describe("""
    print "python 2"  # HOT
""")
    assert (found.text, found.in_loop) == ('print "python 2"  # HOT', None)


def test_another_file_or_line_is_not_known() -> None:
    function = Function("/srv/a.py", 5, "def f():\n    pass")
    assert line_context([function], "/srv/a.py", 7) is None
    assert line_context([function], "/srv/b.py", 5) is None
