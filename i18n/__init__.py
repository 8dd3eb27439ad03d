"""Texts for people, in three languages: one JSON file each, with the same keys.

Models read English and are not served from here.
"""

from .texts import LOCALES, Texts, locale_of

__all__ = ["LOCALES", "Texts", "locale_of"]
