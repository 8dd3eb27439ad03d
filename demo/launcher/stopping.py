"""The wish to end the demo: Ctrl-C or SIGTERM, remembered from the first moment on."""


class StopRequest:
    """Takes signals before there is an event loop to take them.

    It only remembers: an exception out of a signal handler can be lost inside an import.
    """

    def __init__(self) -> None:
        self.came = False

    def take(self, *_: object) -> None:
        """Be the signal handler."""
        self.came = True
