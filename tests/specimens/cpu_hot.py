# FAULT: checksum(), four calls deep, burns a whole CPU; parse() and render() around it cost little.
from lifeline import lifeline, ready

BODY = "the quick brown fox jumps over the lazy dog " * 40


def parse(body: str) -> list[str]:
    return body.split()


def render(words: list[str], digest: int) -> str:
    return f"{len(words)} words, digest {digest:x}"


def checksum(body: str) -> int:
    a, b = 1, 0
    for letter in body:
        a, b = (a + ord(letter)) % 65521, (a + ord(letter) + b) % 65521  # HOT
    return b << 16 | a


def handle(body: str) -> str:
    words = parse(body)
    return render(words, checksum(body))


def serve() -> None:
    while True:
        handle(BODY)


if __name__ == "__main__":
    lifeline()
    ready()
    serve()
