"""The official Python SDK as a client of `talaria mcp`, driven line by line.

Called as: client.py MODE NAME PROGRAM [ARGUMENTS...]. Reads one JSON request a line, writes one JSON answer a line:
the result as the SDK has it, `{"error": ...}`, or `{"timed_out": true}`, always with the progress that came before.
"""

import asyncio
import json
import os
import sys

from mcp import Client, MCPError, StdioServerParameters
from mcp.types import Implementation


async def answer(client, request):
    progress = []

    async def on_progress(count, total, message):
        progress.append([count, message])

    def plain(result):
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def ask():
        match request["do"]:
            case "greet":
                info = plain(client.server_info)
                return {"version": client.protocol_version, "server": info, "instructions": client.instructions}
            case "tools":
                return plain(await client.list_tools())
            case "call":
                call = client.call_tool(
                    request.get("tool", "codex_bridge"), request["arguments"], progress_callback=on_progress
                )
                return plain(await call)
            case "resources":
                return plain(await client.list_resources())
            case "templates":
                return plain(await client.list_resource_templates())
            case "read":
                return plain(await client.read_resource(request["uri"]))

    try:
        result = await asyncio.wait_for(ask(), request.get("give_up_after", 100))
    except MCPError as error:
        result = {"error": str(error)}
    except TimeoutError:
        result = {"timed_out": True}
    return {**result, "progress": progress}


async def main():
    mode, name, program, *arguments = sys.argv[1:]
    server = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
    loop = asyncio.get_running_loop()
    async with Client(server, client_info=Implementation(name=name, version="1"), mode=mode, cache=None) as client:
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps(await answer(client, json.loads(line))), flush=True)


asyncio.run(main())
