"""What answers the dashboard: the API while the plugin is on, a clear "not now" while it is not."""

from collections.abc import AsyncGenerator, Mapping

from ..dashboard_api.answers import Answer
from ..dashboard_api.api import Api
from ..dashboard_api.errors import ApiProblem


class PageApi:
    """See `Served`; both of the dashboard's doors lead to it."""

    def __init__(self) -> None:
        self._api: Api | None = None

    def switch_on(self, api: Api) -> None:
        """From now on this one answers."""
        self._api = api

    async def switch_off(self) -> None:
        """From now on nobody answers, and open streams end."""
        api, self._api = self._api, None
        if api is not None:
            await api.close()

    async def answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes | None,
        content_type: str | None,
    ) -> Answer:
        """See `Served.answer`."""
        if self._api is None:
            return _off().answer()
        return await self._api.answer(method, path, query, body, content_type)

    def stream(self, query: Mapping[str, str], last_event_id: str | None) -> AsyncGenerator[str]:
        """See `Served.stream`."""
        if self._api is None:
            raise _off()
        return self._api.stream(query, last_event_id)


def _off() -> ApiProblem:
    return ApiProblem("off", "The sub-agents are off: AstrBot's log tells why.", status=503)
