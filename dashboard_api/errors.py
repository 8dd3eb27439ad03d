"""What goes wrong, as HTTP says it: every class of the core's errors has its status here.

The message of an error is the core's own, in English; the page has texts of its own by `code`.
"""

from collections.abc import Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from ..manager.errors import (
    AgentBusy,
    AgentNotFound,
    AgentProtected,
    AgentStatic,
    AlreadyRunning,
    FeatureOff,
    IllegalTransition,
    InvalidArgument,
    InvalidName,
    LimitReached,
    LostRun,
    NameTaken,
    NoOpenQuestion,
    NotPermitted,
    PredecessorMissing,
    RunAlreadyFinished,
    RunNotFinished,
    RunNotFound,
    ShuttingDown,
    StoreError,
    StoreLocked,
    StoreTooNew,
    StoreUnavailable,
    SubAgentError,
    UnknownReference,
)
from .answers import Answer
from .ports import InvalidSettings, SettingsChanged, SettingsNotSaved

STATUS: Mapping[type[SubAgentError], int] = MappingProxyType(
    {
        SubAgentError: 500,
        InvalidArgument: 400,
        InvalidName: 400,
        NameTaken: 409,
        UnknownReference: 400,
        AgentNotFound: 404,
        AgentBusy: 409,
        AgentStatic: 409,
        AgentProtected: 409,
        NotPermitted: 403,
        LimitReached: 409,
        RunNotFound: 404,
        RunNotFinished: 409,
        RunAlreadyFinished: 409,
        AlreadyRunning: 409,
        PredecessorMissing: 409,
        NoOpenQuestion: 409,
        IllegalTransition: 409,
        FeatureOff: 409,
        ShuttingDown: 503,
        LostRun: 409,
        StoreError: 503,
        StoreTooNew: 503,
        StoreLocked: 503,
        StoreUnavailable: 503,
    }
)
"""By class; a class that is not here counts as the nearest one above it."""

_FIELD_OF_REFERENCE: Mapping[str, str] = MappingProxyType(
    {"tool": "tools", "skill": "skills", "provider": "provider_id"}
)


_FIELDS_AT_MOST = 50
_NAMED_AT_MOST = 5
"""Errors of a request that its message names."""


class ApiProblem(Exception):
    """A request that is refused."""

    def __init__(
        self, code: str, message: str, *, status: int, fields: Mapping[str, str] | None = None
    ) -> None:
        """Say what is wrong.

        Args:
            code: A name that stays.
            message: A sentence for people.
            status: Of HTTP, 400 or above.
            fields: What is wrong with single keys of the request; the first 50 are sent.
        """
        self.code = code
        self.message = message
        self.status = status
        self.fields = dict(islice((fields or {}).items(), _FIELDS_AT_MOST))
        super().__init__(message)

    def answer(self) -> Answer:
        """The refusal, as it is sent."""
        error: dict[str, Any] = {
            "code": self.code,
            "message": self.message,
            "fields": self.fields,
        }
        return Answer(status=self.status, body={"error": error})


type PlatformProblem = InvalidSettings | SettingsChanged | SettingsNotSaved


def problem_of(error: SubAgentError | PlatformProblem) -> ApiProblem:
    """What a request is told that the core, or the platform's settings, refused."""
    match error:
        case InvalidSettings():
            return ApiProblem("invalid_argument", str(error), status=400, fields=error.fields)
        case SettingsChanged():
            return ApiProblem("settings_changed", str(error), status=409)
        case SettingsNotSaved():
            return ApiProblem("settings_not_saved", str(error), status=503)
        case SubAgentError():
            status = next(STATUS[each] for each in type(error).__mro__ if each in STATUS)
            return ApiProblem(error.code, str(error), status=status, fields=_fields(error))


def _fields(error: SubAgentError) -> dict[str, str]:
    match error:
        case InvalidArgument():
            return {error.field: f"{error.problem[:1].upper()}{error.problem[1:]}."}
        case InvalidName() | NameTaken():
            return {"name": str(error)}
        case UnknownReference():
            key = _FIELD_OF_REFERENCE.get(error.kind)
            return {key: str(error)} if key else {}
    return {}


def invalid_request(error: ValidationError) -> ApiProblem:
    """What a request is told whose keys or values are not those of its route."""
    fields = {
        ".".join(map(str, item["loc"])) or "body": f"{item['msg']}."
        for item in error.errors(include_url=False, include_context=False, include_input=False)
    }
    named = "; ".join(f"{key}: {text}" for key, text in islice(fields.items(), _NAMED_AT_MOST))
    if (more := len(fields) - _NAMED_AT_MOST) > 0:
        named += f" And {more} more."
    return ApiProblem(
        "invalid_argument",
        f"The request is not as it should be. {named}",
        status=400,
        fields=fields,
    )
