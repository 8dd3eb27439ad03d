"""From where the dashboard's server may be asked, and which files it shows."""

from pathlib import Path

import pytest
from multidict import CIMultiDict

from astrbot_plugin_subagents.dashboard_api.server.addresses import (
    Names,
    is_loopback,
    is_of_this_site,
    is_over_tls,
)
from astrbot_plugin_subagents.dashboard_api.server.files import PageFiles


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "localhost", "LocalHost"])
def test_these_are_reached_from_this_machine_only(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", "localhost.org"])
def test_these_are_reached_by_others(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("bound", "asked"),
    [
        ("127.0.0.1", "127.0.0.1:6190"),
        ("127.0.0.1", "localhost:6190"),
        ("127.0.0.1", "[::1]:6190"),
        ("192.168.1.5", "192.168.1.5"),
        ("192.168.1.5", "localhost"),
        ("Bot.Example.org", "bot.example.org:80"),
        ("bot.example.org", "bot.example.org."),
        ("0.0.0.0", "192.168.1.5:6190"),
        ("::", "[fe80::1]:6190"),
    ],
)
def test_a_server_answers_to_its_own_names(bound: str, asked: str) -> None:
    assert Names(bound).has(asked)


@pytest.mark.parametrize(
    ("bound", "asked"),
    [
        ("127.0.0.1", "evil.example.org:6190"),
        ("127.0.0.1", "192.168.1.5:6190"),
        ("127.0.0.1", "127.0.0.1.evil.example.org"),
        ("127.0.0.1", "localhost.evil.example.org"),
        ("127.0.0.1", "127.0.0.1@evil.example.org"),
        ("127.0.0.1", "evil@127.0.0.1"),
        ("127.0.0.1", "127.0.0.1:port"),
        ("127.0.0.1", "127.0.0.1/x"),
        ("127.0.0.1", "[::1"),
        ("127.0.0.1", ""),
        ("192.168.1.5", "192.168.1.6"),
        ("bot.example.org", "evil.example.org"),
        ("0.0.0.0", "evil.example.org"),
    ],
)
def test_a_server_answers_to_no_foreign_name(bound: str, asked: str) -> None:
    assert not Names(bound).has(asked)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "same-origin"},
        {"Origin": "http://127.0.0.1:6190"},
        {"Origin": "http://127.0.0.1:6190", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "https://bot.example.org", "X-Forwarded-Host": "bot.example.org"},
    ],
)
def test_these_requests_are_of_the_servers_own_page(headers: dict[str, str]) -> None:
    assert is_of_this_site(CIMultiDict(headers, Host="127.0.0.1:6190"))


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://127.0.0.1:8080"},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "http://[::1"},
        {"Origin": "http://evil.example.org"},
        {"Origin": "ftp://127.0.0.1:6190"},
        {"Origin": "http://127.0.0.1:6190", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.example.org", "X-Forwarded-Host": "bot.example.org"},
    ],
)
def test_these_requests_are_of_other_sites_pages(headers: dict[str, str]) -> None:
    assert not is_of_this_site(CIMultiDict(headers, Host="127.0.0.1:6190"))


def test_the_browser_tells_whether_a_proxy_adds_https() -> None:
    assert is_over_tls({"Origin": "https://bot.example.org"})
    assert not is_over_tls({"Origin": "http://127.0.0.1:6190"})
    assert not is_over_tls({})


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "page"
    (folder / "app").mkdir(parents=True)
    for name in ("index.html", "app/main.js", "app/.hidden.js", "app/notes.py", "app/x.CSS"):
        (folder / name).write_text(name)
    (tmp_path / "secret.js").write_text("secret")
    (folder / "link.js").symlink_to(tmp_path / "secret.js")
    (folder / "near.js").symlink_to(folder / "app" / "main.js")
    return folder


@pytest.mark.parametrize(
    ("path", "file", "content_type"),
    [
        ("/", "index.html", "text/html; charset=utf-8"),
        ("/index.html", "index.html", "text/html; charset=utf-8"),
        ("/app/main.js", "app/main.js", "text/javascript; charset=utf-8"),
        ("/app/x.CSS", "app/x.CSS", "text/css; charset=utf-8"),
        ("/near.js", "app/main.js", "text/javascript; charset=utf-8"),
    ],
)
def test_the_pages_own_files_are_shown(
    pages: Path, path: str, file: str, content_type: str
) -> None:
    assert PageFiles(pages).find(path) == (pages / file, content_type)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "//",
        "/app",
        "/app/",
        "/app//main.js",
        "/nothing.js",
        "/app/notes.py",
        "/app/.hidden.js",
        "/link.js",
        "/../secret.js",
        "/app/../../secret.js",
        "/..\\secret.js",
        "/app/main.js\0",
        "/app/main.js\n",
        "/C:/x.js",
        "//etc/x.js",
    ],
)
def test_nothing_else_is_shown(pages: Path, path: str) -> None:
    assert PageFiles(pages).find(path) is None
