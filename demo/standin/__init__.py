"""The offline stand-in: an OpenAI-compatible server and the rule-based mind behind it."""
