"""The one exception that ends the demo with a text for the person who started it."""


class Problem(Exception):
    """Something the person can put right; the text says what is wrong and what to do."""
