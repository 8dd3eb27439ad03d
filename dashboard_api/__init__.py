"""The dashboard's API without a web server: what it answers, for whoever serves it."""

from .answers import Answer
from .api import Api
from .dashboard import Dashboard
from .errors import ApiProblem
from .ports import Catalog, InvalidSettings, SettingsChanged, SettingsDesk, SettingsNotSaved
from .routes import Route

__all__ = [
    "Answer",
    "Api",
    "ApiProblem",
    "Catalog",
    "Dashboard",
    "InvalidSettings",
    "Route",
    "SettingsChanged",
    "SettingsDesk",
    "SettingsNotSaved",
]
