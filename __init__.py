"""AstrBot plugin that lets a bot's main model make sub-agents at run time.

The folder is both the plugin that AstrBot loads as ``data.plugins.astrbot_plugin_subagents`` and
the pip package ``astrbot_plugin_subagents``. Start reading at ``main.py`` or ``ARCHITECTURE.md``.
"""
