# FAULT: list_orders() asks for the orders once, then items_of() asks once more for each order (N+1).
import sqlite3
from typing import Any

from lifeline import lifeline, ready, scratch
from shop import open_shop


def items_of(db: sqlite3.Connection, order: int) -> list[Any]:
    question = "SELECT name, price FROM items WHERE order_id = ?"
    return db.execute(question, (order,)).fetchall()  # HOT


def total(items: list[Any]) -> int:
    return sum(price for _, price in items)


def list_orders(db: sqlite3.Connection) -> dict[str, int]:
    orders = db.execute("SELECT id, customer FROM orders").fetchall()
    return {customer: total(items_of(db, order)) for order, customer in orders}


if __name__ == "__main__":
    lifeline()
    shop = open_shop(scratch() / "shop.db")
    ready()
    while True:
        list_orders(shop)
