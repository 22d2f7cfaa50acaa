# HEALTHY twin of growing_list.py: the same pages in an LRU cache that is full and stays at 500.
import os
import time
import zlib
from collections import OrderedDict

from lifeline import lifeline, ready

PAGES: OrderedDict[int, bytes] = OrderedDict()
LIMIT = 500
NOISE = os.urandom(16 << 10)


def remember(number: int) -> None:
    PAGES[number] = zlib.compress(b"page %d " % number + NOISE, 9)
    if len(PAGES) > LIMIT:
        PAGES.popitem(last=False)


if __name__ == "__main__":
    lifeline()
    for early in range(2 * LIMIT):
        remember(early)
    ready()
    for late in range(2 * LIMIT, 1_000_000):
        remember(late)
        time.sleep(0.003)
