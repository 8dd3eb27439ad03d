"""The demo's data folder: is it ours, who uses it, the login kept in it.

An AstrBot root lies in it. A folder that the demo did not make is never touched.
"""

import json
import secrets
import string
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from .instance import USER, Instance, instance_file, read_instance, write_private
from .problem import Problem

MARKER = ".astrbot_plugin_subagents_demo"
LOG = "astrbot.log"

_LOCK = "demo.lock"
_ASTRBOT_LOCK = "astrbot.lock"
_LOGIN = "login.json"
_PASSWORD_LENGTH = 20
_MARKER_TEXT = "Made by `make run` of astrbot_plugin_subagents. Safe to delete with its folder.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Who may enter the WebUI."""

    user: str
    password: str


class DataFolder:
    """The folder of one demo; `open` it first, `close` it last."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path / _LOCK, timeout=0)

    @property
    def root(self) -> Path:
        """AstrBot's root folder."""
        return self.path

    @property
    def log(self) -> Path:
        """Where AstrBot's output goes."""
        return self.path / LOG

    def open(self) -> None:
        """Make sure that the folder is ours and that nobody else uses it.

        Raises:
            Problem: It is not ours, in use, or cannot be written; nothing was changed.
        """
        try:
            self._claim()
            self._lock.acquire()
        except Timeout as error:
            raise Problem(self._in_use()) from error
        except OSError as error:
            raise Problem(f"The data folder {self.path} cannot be used: {error}.") from error
        self._refuse_orphan()

    def close(self) -> None:
        """Give the folder free."""
        self.forget_instance()
        self._lock.release()

    def login(self) -> Login:
        """Return the login, made at the first start and kept."""
        path = self.path / _LOGIN
        if path.exists():
            return _read_login(path)
        login = Login(user=USER, password=_new_password())
        write_private(path, json.dumps(asdict(login)))
        return login

    def tell_instance(self, instance: Instance) -> None:
        """Leave word of the running instance for `ask`."""
        write_private(instance_file(self.path), json.dumps(asdict(instance)))

    def forget_instance(self) -> None:
        """Take that word back."""
        (instance_file(self.path)).unlink(missing_ok=True)

    def _claim(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise Problem(f"DATA={self.path} is not a folder. Choose another one with DATA=...")
        ours = (self.path / MARKER).is_file()
        if self.path.is_dir() and not ours and any(self.path.iterdir()):
            raise Problem(
                f"{self.path} is not empty and was not made by this demo, so nothing was changed "
                "in it. Choose another folder with DATA=..., or empty it."
            )
        self.path.mkdir(parents=True, exist_ok=True)
        if not ours:
            # Keys and chats will lie here.
            self.path.chmod(0o700)
            (self.path / MARKER).write_text(_MARKER_TEXT, encoding="utf-8")
            # Within a clone neither git nor a linter is to take them up.
            (self.path / ".gitignore").write_text("*\n", encoding="utf-8")

    def _in_use(self) -> str:
        running = read_instance(self.path)
        where = f" at {running.url}" if running else ""
        return (
            f"Another demo already runs{where} with the data folder {self.path}. Stop it first, "
            "or choose another folder with DATA=..."
        )

    def _refuse_orphan(self) -> None:
        # AstrBot holds a lock of its own while it runs.
        lock = FileLock(self.path / _ASTRBOT_LOCK, timeout=0)
        try:
            lock.acquire()
        except Timeout as error:
            self._lock.release()
            raise Problem(
                f"An AstrBot still runs in {self.path}. Stop it first, or choose another folder "
                "with DATA=..."
            ) from error
        lock.release()


def _read_login(path: Path) -> Login:
    try:
        return Login(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise Problem(
            f'{path} is damaged. Write {{"user": ..., "password": ...}} into it, or remove it '
            "together with its folder for a new start."
        ) from error


def _new_password() -> str:
    letters = string.ascii_letters + string.digits
    while True:
        password = "".join(secrets.choice(letters) for _ in range(_PASSWORD_LENGTH))
        # AstrBot wants each of these kinds.
        kinds = (str.isupper, str.islower, str.isdigit)
        if all(any(kind(each) for each in password) for kind in kinds):
            return password
