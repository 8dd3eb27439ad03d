"""The dashboard as a web server by itself, beside AstrBot's WebUI."""

from .server import CannotListen, DashboardServer, Place
from .stand_alone import StandAlone

__all__ = ["CannotListen", "DashboardServer", "Place", "StandAlone"]
