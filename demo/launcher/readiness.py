"""Finds out whether a message can be sent to AstrBot: login, plugins, model.

AstrBot has no signal for it, so this asks until all is there.
"""

import asyncio

from .api import ApiError, AstrBotApi, LoginRefused
from .astrbot_config import PROVIDER_ID
from .instance import Instance
from .plugin_files import DOCS_PLUGIN, PLUGIN
from .problem import Problem

START_SECONDS = 180.0
PAUSE_SECONDS = 0.3


async def until_ready(instance: Instance) -> str:
    """Wait until a message can be sent.

    Returns:
        The token of the login that was tried.

    Raises:
        Problem: The login is refused, a plugin cannot be loaded, or it takes too long.
    """
    api = AstrBotApi(instance.url)
    lacking = "AstrBot does not answer"
    try:
        async with asyncio.timeout(START_SECONDS):
            while lacking := await asyncio.to_thread(_lacking, api, instance):  # noqa: ASYNC110
                await asyncio.sleep(PAUSE_SECONDS)  # another process gives no event to wait for
    except TimeoutError as error:
        raise Problem(f"AstrBot was not ready after {START_SECONDS:.0f} s: {lacking}.") from error
    return api.token


def _lacking(api: AstrBotApi, instance: Instance) -> str:
    try:
        if not api.token:
            api.login(instance.user, instance.password)
        return _missing_parts(api)
    except LoginRefused as error:
        raise Problem(
            f"{error}. Was the password changed in the WebUI? Then write the new one into "
            "login.json in the data folder."
        ) from error
    except ApiError as error:
        return str(error)


def _missing_parts(api: AstrBotApi) -> str:
    failed = api.failed_plugins()
    broken = [f"{name}: {failed[name]}" for name in (PLUGIN, DOCS_PLUGIN) if name in failed]
    if broken:
        raise Problem("AstrBot could not load " + "; ".join(broken))
    loaded = api.plugins()
    for name in (PLUGIN, DOCS_PLUGIN):
        if name not in loaded:
            return f"the plugin {name} is not loaded"
        if not loaded[name]:
            raise Problem(f"The plugin {name} is switched off in this data folder; see its WebUI.")
    return "" if PROVIDER_ID in api.providers() else f"the model {PROVIDER_ID} is not set up"
