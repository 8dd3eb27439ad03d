"""Where the dashboard listens, and what keeps strangers out."""

import pytest

from astrbot_plugin_subagents.manager import Settings
from astrbot_plugin_subagents.manager.settings import DashboardSettings
from astrbot_plugin_subagents.plugin.config import parse_settings

PORT = "a whole number of at least 1 and at most 65535"
HOST = "a host name or an address, without a port"
TOKEN = "12 to 200 printable characters, or an empty text"


@pytest.mark.parametrize(
    ("key", "value", "accepted"),
    [
        ("port", 65536, PORT),
        ("port", 0, PORT),
        ("host", "", HOST),
        ("host", "localhost:80", HOST),
        ("host", "http://localhost", HOST),
        ("host", "-x", HOST),
        ("host", "x" * 254, HOST),
        ("token", "elevenchars", TOKEN),
        ("token", "x" * 201, TOKEN),
        ("token", "twelve\ncharacters", TOKEN),
    ],
)
def test_what_does_not_fit_gives_the_default_and_a_text_without_the_value(
    key: str, value: object, accepted: str
) -> None:
    settings, problems = parse_settings({"dashboard": {key: value}})

    assert settings == Settings()
    assert [(each.key, each.accepted) for each in problems] == [(f"dashboard.{key}", accepted)]
    assert [each.text for each in problems if value and str(value) in each.text] == []


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "0.0.0.0", "::", "::1", "localhost", "bot-1.example.org", "x" * 253]
)
def test_names_and_addresses_are_hosts(host: str) -> None:
    settings, problems = parse_settings({"dashboard": {"host": f" {host} "}})

    assert problems == ()
    assert settings == Settings(dashboard=DashboardSettings(host=host))


@pytest.mark.parametrize("token", ["", "twelve chars", "x" * 200])
def test_a_token_is_long_enough_or_empty(token: str) -> None:
    settings, problems = parse_settings({"dashboard": {"token": token}})

    assert problems == ()
    assert settings == Settings(dashboard=DashboardSettings(token=token))


def test_secrets_are_not_in_what_settings_say_of_themselves() -> None:
    settings, _ = parse_settings(
        {"database_url": "postgresql://me:hunter2@db", "dashboard": {"token": "hunter2hunter2"}}
    )

    assert settings.database_url.endswith("db")
    assert "hunter2" not in repr(settings)


def test_what_astrbot_adds_to_a_group_of_this_name_is_no_problem() -> None:
    of_astrbot = {
        "pbkdf2_password": "pbkdf2_sha256$1$00$00",
        "password": "0" * 32,
        "password_storage_upgraded": True,
        "password_change_required": True,
    }

    settings, problems = parse_settings({"dashboard": {"enabled": True, **of_astrbot}})

    assert problems == ()
    assert settings == Settings(dashboard=DashboardSettings(enabled=True))
