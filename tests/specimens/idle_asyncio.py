# HEALTHY: an asyncio server without clients; its loop waits in epoll.
import asyncio

from lifeline import lifeline, ready


async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    ready(port=server.sockets[0].getsockname()[1])
    await server.serve_forever()


if __name__ == "__main__":
    lifeline()
    asyncio.run(main())
