"""Texts that break pages: markup, marks that turn a line round, words without an end.

Each is something that a model, a user or a web page may well say. Shown rightly they stand on the
page as they are written.
"""

TRAP = "window.trapped"
"""What those with a script in them set when a page runs it."""

SCRIPT = f"<script>{TRAP} = 'script'</script>"
IMAGE = f"<img src=x onerror=\"{TRAP} = 'image'\">"
LINK = f"[read this](javascript:{TRAP}='link') <a href=\"javascript:{TRAP}='anchor'\">more</a>"
FRAME = f"<iframe srcdoc=\"<script>top.{TRAP.partition('.')[2]}='frame'</script>\"></iframe>"
TEMPLATE = "{{ constructor.constructor('" + TRAP + " = 1')() }} ${" + TRAP + " = 2}"
STYLE = "</style></textarea></title><style>* { display: none !important }</style>"
RIGHT_TO_LEFT = "\u202eturned round\u202c \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627"
EMOJI = (
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f3f3\ufe0f\u200d\U0001f308 \u2603\ufe0f"
    " e\u0301 \u4f60\u597d"
)
LONG_WORD = "Donaudampfschifffahrts" * 40
MARKDOWN = (
    "# Not a heading\n* **bold**, `code`\n\n```python\nprint('<b>')\n```\n| a | b |\n|---|---|"
)
MANY_LINES = "\n" * 30 + "after many lines"

ALL = (
    SCRIPT,
    IMAGE,
    LINK,
    FRAME,
    TEMPLATE,
    STYLE,
    RIGHT_TO_LEFT,
    EMOJI,
    LONG_WORD,
    MARKDOWN,
    MANY_LINES,
)
