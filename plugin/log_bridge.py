"""Brings what the core logs into AstrBot's log.

The core logs as any Python package does, and AstrBot collects that at the root of all loggers. But
some of its adapters take everything away from there when they are imported (`removeHandler` in
core/platform/sources/qqofficial/qqofficial_platform_adapter.py): then nobody would read it.
"""

import logging

from astrbot.api import logger as astrbot_logger

_PACKAGE = __name__.removesuffix(".plugin.log_bridge")
_ASTRBOT = "astrbot."


class LogBridge(logging.Handler):
    """Hands on what AstrBot does not collect by itself, from `open` to `close`."""

    def open(self) -> None:
        """Begin."""
        logging.getLogger(_PACKAGE).addHandler(self)

    def close(self) -> None:
        """Stop."""
        logging.getLogger(_PACKAGE).removeHandler(self)
        super().close()

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler.emit`."""
        if not _is_collected() and astrbot_logger.isEnabledFor(record.levelno):
            astrbot_logger.handle(record)


def _is_collected() -> bool:
    return any(type(each).__module__.startswith(_ASTRBOT) for each in logging.root.handlers)
