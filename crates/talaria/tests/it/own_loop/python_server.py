# An MCP server on the official Python SDK: stdio, or streamable HTTP if a file for its port is named.
import base64
import os
import socket
import sys
import time

from mcp.server.mcpserver import Image, MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("third party")
reads = ToolAnnotations(readOnlyHint=True)


@server.tool(annotations=reads)
def count(words: str) -> dict[str, int]:
    """Count words."""
    return {"words": len(words.split())}


@server.tool(annotations=reads)
def picture() -> Image:
    """Show a picture."""
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    return Image(data=base64.b64decode(pixel), format="png")


@server.tool(annotations=reads)
def fail() -> str:
    """Fail."""
    raise ValueError("no such bird")


@server.tool()
def leave() -> str:
    """End the server in the middle of a call."""
    print("leaving with", os.environ.get("NEST_TOKEN"), file=sys.stderr, flush=True)
    os._exit(3)


@server.tool()
def wait(started: str, go: str) -> str:
    """Say that it runs, and wait for a file."""
    with open(started, "a") as file:
        file.write(f"{os.getpid()}\n")
    while not os.path.exists(go):
        time.sleep(0.02)
    return "went on"


if len(sys.argv) == 1:
    server.run()
else:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open(sys.argv[1] + ".new", "w") as file:
        file.write(str(port))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.run("streamable-http", host="127.0.0.1", port=port)
