"""Is a port free?"""

import socket

from .problem import Problem
from .settings import HOST


def refuse_taken(port: int) -> None:
    """Make sure that a server can listen on a port.

    Raises:
        Problem: Another program has it, or it may not be used.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise Problem(
                f"Port {port} cannot be used: {error.strerror}. Choose another one, for example: "
                f"make run PORT={port + 1 if port < 65535 else port - 1}"
            ) from error
