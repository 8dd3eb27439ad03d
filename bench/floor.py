"""The floor: the same HTTP calls with a bare aiohttp client, and nothing else."""

import aiohttp
from model import CHILD_MARK, LOOKUP


class Floor:
    """A client that plays a child's three model calls."""

    def __init__(self, model_url: str) -> None:
        self._url = f"{model_url}/chat/completions"
        # without a limit of connections, as many runs as one likes are side by side
        self._client = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def run(self, task: str = "measure") -> None:
        """Call the model until it makes no tool call any more."""
        messages: list[dict[str, object]] = [
            {"role": "system", "content": CHILD_MARK},
            {"role": "user", "content": task},
        ]
        tool = {"type": "function", "function": {"name": LOOKUP, "parameters": {"type": "object"}}}
        while True:
            body = {"model": "bench", "messages": messages, "tools": [tool]}
            async with self._client.post(self._url, json=body) as response:
                answer = (await response.json())["choices"][0]["message"]
            messages.append(answer)
            if not answer.get("tool_calls"):
                return
            call_id = answer["tool_calls"][0]["id"]
            messages.append({"role": "tool", "tool_call_id": call_id, "content": "a value"})

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()
