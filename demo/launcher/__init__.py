"""Starts a real AstrBot with this plugin for a newcomer, and talks to it."""
