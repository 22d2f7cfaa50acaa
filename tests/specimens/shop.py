# Support for n_plus_one.py and batched_queries.py, no specimen itself: a shop of 200 orders in a file.
import sqlite3
from pathlib import Path


def open_shop(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT)")
    db.execute("CREATE TABLE items (order_id INTEGER, name TEXT, price INTEGER)")
    db.execute("CREATE INDEX items_by_order ON items (order_id)")
    for order in range(200):
        db.execute("INSERT INTO orders VALUES (?, ?)", (order, f"customer {order % 17}"))
        items = [(order, f"item {n}", n * 7) for n in range(3)]
        db.executemany("INSERT INTO items VALUES (?, ?, ?)", items)
    db.commit()
    return db
