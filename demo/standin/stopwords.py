# ruff: noqa: RUF001 - texts in Chinese and Russian are what this file is about
"""Words that carry no meaning of their own in a request."""

_ENGLISH = """
a about after all also am an and any are as at be because been but by can could did do does doing
e.g each else etc every explain find following for from get give given go had has have he her here
him his
how i i.e if in into is it its just kindly know let like look make may me mean means might more
most must my need no not now of off on once one only or our out over please say see she should show
so some such tell than that the their them then there these they thing things this those to too try
two up us use used using very want was way we well were what when where whether which while who whom
whose why will with would you your happen happens happening work works let's i'm
"""

_RUSSIAN = """
а без будет будут бы был быть в вам вас весь во вот все всё вы где да делать для до его если есть
еще ещё же за знать и из или им их к как какая какие какой ко когда которая которые который кто ли
мне можно мой мы на надо нам не нет ним них но ну нужно о об объясни он она они от по подскажи
пожалуйста покажи после потом при про произойдет произойдёт происходит расскажи с скажи случится со
так также там тем то тогда только том тому у уже узнать хочу чего что чтобы эта эти это этот я
"""

STOP_WORDS = frozenset(_ENGLISH.split()) | frozenset(_RUSSIAN.split())
"""Compared in lower case. Chinese is not split into words, so it has none here."""
