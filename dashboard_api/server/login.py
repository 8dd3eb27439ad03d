"""The login: a token, tries that are counted, and the browsers that have signed in.

All is kept in memory: after a restart everybody signs in anew.
"""

import hmac
import math
import secrets
from collections import deque
from dataclasses import dataclass

from ...manager.host import Clock

WINDOW_SECONDS = 60.0
"""Failures are counted over this time."""
FAILURES_PER_ADDRESS = 5
FAILURES_IN_ALL = 30

IDLE_SECONDS = 12 * 3600.0
"""Who does nothing for so long is signed out."""
LONGEST_SECONDS = 7 * 24 * 3600.0
"""Everybody signs in anew after this time."""
SIGNED_IN_AT_MOST = 100
"""More sign out the one that did nothing for the longest time."""


class LoginLimiter:
    """Counts failures of login, of one address and of all, and says who has to wait."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: deque[tuple[float, str]] = deque()

    def wait_seconds(self, address: str) -> int:
        """How long an address has to wait until its next try counts; 0 is not at all.

        Args:
            address: Where the try comes from; "" when nobody knows.
        """
        now = self._clock.monotonic()
        while self._failures and now - self._failures[0][0] >= WINDOW_SECONDS:
            self._failures.popleft()
        own = [at for at, whose in self._failures if whose == address]
        over: list[float] = []
        if len(own) >= FAILURES_PER_ADDRESS:
            over.append(own[-FAILURES_PER_ADDRESS])
        if len(self._failures) >= FAILURES_IN_ALL:
            over.append(self._failures[-FAILURES_IN_ALL][0])
        return math.ceil(max(over) + WINDOW_SECONDS - now) if over else 0

    def failed(self, address: str) -> None:
        """An address gave a wrong token."""
        self._failures.append((self._clock.monotonic(), address))


@dataclass(slots=True, kw_only=True)
class _SignIn:
    since: float
    used: float


class SignIns:
    """The browsers that have signed in, by the random id in their cookie."""

    def __init__(self, token: str, clock: Clock) -> None:
        """Set it up.

        Args:
            token: What people have to know; not empty.
            clock: Tells when somebody was away for too long.
        """
        if not token:
            raise ValueError("a login without a token would let everybody in")
        self._token = _bytes(token)
        self._clock = clock
        self._signed_in: dict[str, _SignIn] = {}

    def sign_in(self, token: str) -> str | None:
        """Return the id of a new session; None when the token is wrong."""
        if not hmac.compare_digest(_bytes(token), self._token):
            return None
        now = self._clock.monotonic()
        if len(self._signed_in) >= SIGNED_IN_AT_MOST:
            # the one that was used last stands last
            del self._signed_in[next(iter(self._signed_in))]
        session = secrets.token_urlsafe(32)
        self._signed_in[session] = _SignIn(since=now, used=now)
        return session

    def is_signed_in(self, session: str) -> bool:
        """Whether a session is open; asking keeps it so."""
        if not self.is_open(session):
            return False
        found = self._signed_in.pop(session)
        found.used = self._clock.monotonic()
        self._signed_in[session] = found
        return True

    def is_open(self, session: str) -> bool:
        """Whether a session is open; asking does not keep it so."""
        found = self._signed_in.get(session)
        if found is None:
            return False
        now = self._clock.monotonic()
        if now - found.used < IDLE_SECONDS and now - found.since < LONGEST_SECONDS:
            return True
        del self._signed_in[session]
        return False

    def sign_out(self, session: str) -> None:
        """End a session; one that is not open stays so."""
        self._signed_in.pop(session, None)


def _bytes(text: str) -> bytes:
    # JSON can hold half of a surrogate pair, which has no bytes of its own
    return text.encode("utf-8", "surrogatepass")
