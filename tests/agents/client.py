"""A session with `perfline mcp`: client.py PERFLINE FOLDER, where the folder holds slow_model.py and a recording of it."""

import asyncio
import json
import subprocess
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

# What each tool is asked, and what its answer must contain.
CALLS = [
    ("recordings", {}, "profiles/trace.json.gz"),
    ("summary", {}, "Limited by the device and the host about equally"),
    ("findings", {"top": 1}, "slow_model.py:45 tensor-cores-unused"),
    ("hot_lines", {"metric": "wait"}, "if x.max().item() > 100:"),
    ("show", {"place": "slow_model.py:46"}, "wait for the GPU"),
    ("source", {"file": "slow_model.py", "line": 46}, "if x.max().item() > 100:"),
    ("operators", {"sort": "calls"}, "aten::add_"),
    ("kernels", {}, "ampere_sgemm"),
    ("table", {"name": "steps"}, "to median"),
    ("memory", {}, "memory-peak-line"),
    ("diff", {"base": "profiles", "recording": "profiles"}, "### Perfline"),
    ("explain", {"rule": "sync"}, "# `sync`"),
]

# Bytes of an answer at most where it is not said how many rows are wanted.
MAX_BYTES = 8192


async def session(perfline: str, folder: str) -> None:
    server = StdioServerParameters(command=perfline, args=["mcp", "--root", folder], env={"PERFLINE_CACHE_DIR": ""})
    async with stdio_client(server) as (read, write), ClientSession(read, write) as client:
        await client.initialize()
        tools = (await client.list_tools()).tools
        assert [it.name for it in tools] == [it[0] for it in CALLS], tools
        for name, arguments, expected in CALLS:
            text = await answer(client, name, arguments, is_error=False)
            assert expected in text, (name, text)
            assert len(text.encode()) <= MAX_BYTES, (name, len(text))
        printed = subprocess.run(
            [perfline, "report", "--format", "json", "--root", folder, folder],
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        report = json.loads(printed.stdout)
        summary = json.loads(await answer(client, "summary", {"format": "json"}, is_error=False))
        assert summary["verdict"] == report["verdict"]
        assert summary["findings"] == report["findings"][:3]
        outside = await answer(client, "summary", {"recording": "/etc/passwd"}, is_error=True)
        assert "lies outside of" in outside, outside
        prompts = (await client.list_prompts()).prompts
        prompt = await client.get_prompt(prompts[0].name)
        assert "`summary`" in prompt.messages[0].content.text


async def answer(client: ClientSession, name: str, arguments: dict, *, is_error: bool) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error == is_error, (name, result)
    [content] = result.content
    return content.text


if __name__ == "__main__":
    asyncio.run(asyncio.wait_for(session(*sys.argv[1:3]), timeout=120))
