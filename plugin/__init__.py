"""The only package that knows AstrBot.

Composition root, configuration, host adapter, the main agent's tools, and hooks.
"""
