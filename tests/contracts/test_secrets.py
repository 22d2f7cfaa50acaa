"""Secrets are hidden; what only looks like one is left, since it may be the evidence."""

import shlex
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dea.contracts.secrets import hide_in_argv, hide_secrets, target_text

SECRET = "hunter2-Zq9x"


@pytest.mark.parametrize(
    "text",
    [
        "--password {}",
        "--password={} --verbose",
        "--api-key '{}'",
        "-Djavax.net.ssl.keyStorePassword={}",
        "redis-server --requirepass {} --port 1",
        "TOKEN={} python app.py",
        "AWS_SECRET_ACCESS_KEY={}",
        "export DB_PASS={}",
        "os.environ['SECRET_KEY'] = {}",
        "password: {}",
        "clientSecret => {}",
        '{{"api_key": "{}", "n": 1}}',
        '{{"api_key": "{}',
        r"{{\"password\": \"{}\", \"x\": 1}}",
        "Authorization: Bearer {}",
        "authorization: Token {}",
        "Authorization: Digest username=bob, response={}",
        "'Authorization': 'Basic {}'",
        "curl -H 'X-Auth-Token: {}' http://x",
        "curl -u bob:{} http://x",
        "Cookie: theme=dark; sid={}",
        "Set-Cookie: sid={}; Path=/",
        "postgres://bob:{}@db/shop",
        "redis://:{}@db:6379",
        "https://x.example/?page=1&access_token={}&x=1",
        "Server=db;Pwd={};Database=shop",
        "mysql -u root -p{} shop",
        "sshpass -p {} ssh host",
        "redis-cli -h db -a {}",
        "openssl rsa -passin pass:{}",
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_a_secret_is_hidden_wherever_it_stands(text: str) -> None:
    hidden = hide_secrets(text.format(SECRET))
    assert SECRET not in hidden
    assert "<" in hidden


@pytest.mark.parametrize(
    ("token", "label"),
    [
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "<jwt>"),
        ("AKIAIOSFODNN7EXAMPLE", "<aws-key>"),
        ("ghp_" + "a1" * 18, "<github-token>"),
        ("sk-proj-" + "a1" * 12, "<api-key>"),
        ("xoxb-123456789012-abc", "<slack-token>"),
        ("AIza" + "x" * 35, "<google-key>"),
    ],
)
def test_a_token_of_a_known_shape_is_hidden_without_a_name(token: str, label: str) -> None:
    assert hide_secrets(f"got {token}, then") == f"got {label}, then"


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ('{"token": "a", "user": "bob"}', '{"token": "<secret>", "user": "bob"}'),
        ("https://x/?token=a&x=1", "https://x/?token=<secret>&x=1"),
        ("Server=db;Pwd=a;Database=shop", "Server=db;Pwd=<secret>;Database=shop"),
        ("postgres://bob:a@db/shop", "postgres://bob:<password>@db/shop"),
        ("connect(token=abc)", "connect(token=<secret>)"),
        ("password: \nnext line", "password: \nnext line"),
    ],
)
def test_only_the_secret_is_hidden(text: str, hidden: str) -> None:
    assert hide_secrets(text) == hidden


@pytest.mark.parametrize(
    "text",
    [
        "refill token_bucket.py:12",
        "token_bucket.py: 12 hits",
        "get_token: 45 %",
        "verify_token (auth.py:33) 40 %",
        "password_hash(x)",
        "if password == other:",
        "def login(password: str, token: bytes = None)",
        "self.token = next_token(stream)",
        "token = tokens[i]",
        "sorted(rows, key=lambda row: row.id)",
        "--tokenizer fast --max-tokens 5",
        "--password-file /etc/db",
        "--token --verbose",
        "max_tokens=100",
        "for token in tokens:",
        "secretary=bob, compass: 3, bypass=1",
        "PASS: test_login",
        "PWD=/home/bob",
        '"password":null',
        "token::next",
        "/run/secrets/db: no such file",
        "threads wait for token_lock: 12",
        "docker run -u 1000:1000 app",
        "sk-learn-something-very-long-name",
    ],
)
def test_what_only_looks_like_a_secret_is_left(text: str) -> None:
    assert hide_secrets(text) == text


def test_text_of_a_target_is_hidden_before_it_is_cut() -> None:
    """A secret whose name alone would be cut off must not stay."""
    assert target_text(f"@a\npassword={SECRET}") == "@a password=<secret>"
    assert SECRET[:4] not in target_text(f"@token={SECRET}", 12)


def test_argv_is_judged_argument_by_argument() -> None:
    argv = ["/srv/my app", "--password", "it's a b", "TOKEN=a b", "-H", "Authorization: Bearer x"]
    assert hide_in_argv([*argv, "--token", "--dry-run", "app.py"]) == (
        "'/srv/my app' --password <secret> TOKEN=<secret> "
        "-H 'Authorization: <authorization>' --token --dry-run app.py"
    )


@given(st.lists(st.text(string.ascii_letters + " '\"$\\`!*", min_size=1)))
def test_a_command_line_without_secrets_can_be_given_to_a_shell(argv: list[str]) -> None:
    assert shlex.split(hide_in_argv(["app", *argv])) == ["app", *argv]


NAMES = st.sampled_from(["password", "DB_PASSWORD", "api-key", "apiKey", "auth_token", "secret"])
VALUES = st.text(string.ascii_letters + string.digits + "!#$%*+-./:?@^_~ '\"\\&;,", min_size=1)


@given(NAMES, VALUES.filter(lambda value: "--" not in value))
def test_no_part_of_an_argument_that_is_a_secret_is_shown(name: str, value: str) -> None:
    assert hide_in_argv([f"--{name}={value}", "x"]) == f"--{name}=<secret> x"
    if not value.startswith("-"):
        assert hide_in_argv([f"--{name}", value, "x"]) == f"--{name} <secret> x"


@given(st.text(string.ascii_letters + " ='\":;&,-./@\\<>()[]{}\n" + string.digits) | st.text())
def test_hiding_twice_changes_nothing_more(text: str) -> None:
    once = hide_secrets(f"token={text}")
    assert hide_secrets(once) == once


@pytest.mark.parametrize("piece", ["password=", "mysql ", "sk-", "x://", "--", "token ", "a.b-"])
def test_long_text_takes_no_time(piece: str) -> None:
    """Were the time to grow with the square of the length, this would take hours."""
    hide_secrets(piece * 20_000)
