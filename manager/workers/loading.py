"""Loads what sharing needs beyond the plugin's own requirements: procrastinate and psycopg.

They are an optional dependency, so everything of ours that imports them is loaded from here alone.
"""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import StoreUnavailable

if TYPE_CHECKING:
    from .postgres import PostgresSharing

_PACKAGES = "'procrastinate>=3.10,<4' 'psycopg[binary]>=3.2,<4'"
"""As the extra `workers` in pyproject.toml has them; a test compares."""


def load_sharing(dsn: str, *, home: str, places: Callable[[int], bool]) -> "PostgresSharing":
    """Make this process's part in the work of a PostgreSQL store; it is not opened.

    Args:
        dsn: `ServerAddress.dsn` of the store.
        home: The name of this process.
        places: Whether this process takes one more run, given how many it has in hand.

    Raises:
        StoreUnavailable: The packages are missing; the text says how to install them.
    """
    # Somebody may have installed them since the process began.
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(".postgres", __package__)
    except ImportError as error:
        raise StoreUnavailable(
            f"sharing its work among processes needs packages that are missing ({error}): "
            f"pip install {_PACKAGES}"
        ) from None
    sharing: PostgresSharing = module.PostgresSharing(dsn, home=home, places=places)
    return sharing
