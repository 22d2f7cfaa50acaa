"""The `dea` command: the same tools as over MCP, for people and scripts."""

import sys


def main() -> None:
    """Entry point. Exit code 0: done; 1: findings that --fail-on asks about; 2: could not run."""
    if sys.argv[1:] == ["mcp"]:  # a client waits for the first reply: load nothing but the server
        from dea.server import main as serve

        return serve()

    from dea.cli.entry import run

    sys.exit(run(sys.argv[1:]))
