"""What the server serves: the API, or what stands in for it while the plugin is off."""

from collections.abc import AsyncGenerator, Mapping
from typing import Protocol

from ..answers import Answer


class Served(Protocol):
    """Answers requests that were let in."""

    async def answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes | None,
        content_type: str | None,
    ) -> Answer:
        """Answer one request; an error is an answer too."""
        ...

    def stream(self, query: Mapping[str, str], last_event_id: str | None) -> AsyncGenerator[str]:
        """Open the stream of events, in chunks of `text/event-stream`.

        The first chunk comes at once, so that whoever asked knows that it is open.

        Raises:
            ApiProblem: It cannot be opened; here, or in place of the first chunk.
        """
        ...
