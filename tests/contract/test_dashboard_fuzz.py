"""Whatever is asked of the dashboard's API, within its own OpenAPI document and beyond it: the
answer is one that the document knows, and never a fault of the server's.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from astrbot_plugin_subagents.dashboard_api.openapi import make_openapi
from astrbot_plugin_subagents.dashboard_api.routes import EVENTS, ROUTES
from support.dashboard_thread import AGENT, SESSION, TOKEN, Served, served

SCHEMA = schemathesis.openapi.from_dict(dict(make_openapi(ROUTES, version="1.0.0")))
CASES = [
    (each.method, each.path, mode)
    for each in ROUTES
    for mode in GenerationMode
    # the stream has no end, its own tests read it; and where nothing is asked nothing is wrong
    if each.path != EVENTS and (each.asks.model_fields or mode is GenerationMode.POSITIVE)
]

EXAMPLES = 8
"""Of each case, so that all of them take some twenty seconds."""

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("fuzz")) as there:
        yield there


@pytest.fixture(scope="module")
def client(there: Served) -> Iterator[requests.Session]:
    with requests.Session() as client:
        signed_in = client.post(f"{there.url}/api/login", json={"token": TOKEN}, timeout=10)
        assert signed_in.status_code == 200
        yield client


@pytest.mark.parametrize(("method", "path", "mode"), CASES)
def test_every_answer_is_one_that_the_document_knows(
    there: Served, client: requests.Session, method: str, path: str, mode: GenerationMode
) -> None:
    operation = SCHEMA[path][method]
    known = {"session": SESSION, "run_id": there.run_id, "name": AGENT, "agent": AGENT}

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), is_known=st.booleans())
    def ask(case: schemathesis.Case[Any], is_known: bool) -> None:
        if is_known:
            # else nothing but "not found" would be met
            for place in (case.query, case.body):
                if isinstance(place, dict):
                    place.update({key: known[key] for key in place.keys() & known.keys()})
        checks = CHECKS if is_known else [*CHECKS, negative_data_rejection]
        case.call_and_validate(f"{there.url}/api", session=client, checks=checks, timeout=10)

    ask()
