"""The MCP server: what `dea mcp` runs. The SDK is imported only when it starts."""

import sys

_INTERRUPTED = 130


def main() -> None:
    """Serve on stdin and stdout until the client goes or a signal comes."""
    try:
        from dea.server.stdio import run

        run()
    except KeyboardInterrupt:  # it came before anything was served
        sys.exit(_INTERRUPTED)
