# FAULT when DELAY_S is long, HEALTHY at 0: a TCP server that answers each line after DELAY_S seconds.
import asyncio
import sys

from lifeline import lifeline, ready

DELAY_S = float(sys.argv[1])


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        await asyncio.sleep(DELAY_S)
        writer.write(line)
        await writer.drain()
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    ready(port=server.sockets[0].getsockname()[1])
    await server.serve_forever()


if __name__ == "__main__":
    lifeline()
    asyncio.run(main())
