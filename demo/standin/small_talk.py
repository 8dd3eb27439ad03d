# ruff: noqa: RUF001 - texts in Chinese and Russian are what this file is about
"""Knows small talk: greetings, thanks, farewells, and questions about who is there.

A text is small talk only as a whole: one word of something else makes it a request.
"""

import re
from typing import Literal

type Kind = Literal["", "hello", "thanks", "bye"]

_HELLO = """
how are you doing|how are you|how is it going|how's it going|how do you do|what's up|whats up
|who are you|who is there|are you there|what are you|what is your name|what's your name
|are you an? (?:bot|ai|human|robot|person)|what can you do|what do you do|can you help(?: me)?
|good morning|good afternoon|good evening|good day|nice to meet you|greetings|hello|hey|hi|help me
|help|testing|test|ping
|доброе утро|добрый день|добрый вечер|здравствуйте|здравствуй|приветствую|привет|как дела
|как поживаешь|как поживаете|как жизнь|как ты|как вы|кто ты такой|кто ты такая|кто ты|ты кто
|кто вы такие|кто вы|ты тут|ты здесь|как тебя зовут|как вас зовут|что ты умеешь делать
|что ты умеешь|что вы умеете|что ты можешь|что вы можете|помоги мне|помоги|помощь|тест
|早上好|上午好|中午好|下午好|晚上好|大家好|你们好|你好|您好|嗨|哈喽|早安|在吗|在不在|你是谁|您是谁
|你是什么|你是机器人|你叫什么名字|你叫什么|你能做什么|你可以做什么|你会做什么|你会什么
|你能干什么|你能帮我什么|你怎么样|最近怎么样|最近好|介绍一下你自己|自我介绍|帮助|测试
""".replace("\n", "")
_THANKS = """
many thanks|thanks a lot|thanks|thank you|thx|great|perfect|nice|cool|okay|ok|got it|i see
|большое спасибо|спасибо большое|спасибо|благодарю|отлично|хорошо|понятно|ладно|ок
|谢谢你们|谢谢您|谢谢你(?!好)|谢谢|多谢|非常感谢|感谢|辛苦了|太好了|好的|明白了|知道了|收到
""".replace("\n", "")
_BYE = """
good night|goodbye|good bye|bye bye|bye|see you later|see you
|спокойной ночи|до свидания|до встречи|всего доброго|пока
|再见|拜拜|晚安|回头见
""".replace("\n", "")
_FILLERS = (
    r"there|you|again|all|everyone|everybody|bot|friend|today|now|please|then|very much|so much"
    r"|for me|for that|for your help|снова|всем|бот|друг|друзья|сегодня|вам|тебе|ещё раз"
    r"|за помощь|大家(?!好)|吗|啊|呀|呢|吧|哦"
)


_WORD_END = "(?![A-Za-zА-Яа-яЁё])"
# Groups that give nothing back keep the time for a long text short.
_PIECE = re.compile(
    rf"(?:(?>(?P<hello>{_HELLO})|(?P<thanks>{_THANKS})|(?P<bye>{_BYE})){_WORD_END}"
    rf"(?:\s*+(?>{_FILLERS}){_WORD_END})*+\s*+)++",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"[^\w\s']+|_+")
_APOSTROPHE = re.compile("[’‘`]")


def small_talk(text: str) -> Kind:
    """Tell what kind of small talk a text is; "" when it is none.

    A text of several kinds is the first of: hello, thanks, bye.
    """
    between = _BETWEEN.split(_APOSTROPHE.sub("'", text))
    pieces = [" ".join(each.split()) for each in between if each.strip()]
    matches = [_PIECE.fullmatch(each) for each in pieces]
    met = [each for each in matches if each is not None]
    if not pieces or len(met) < len(pieces):
        return ""
    kinds: tuple[Kind, ...] = ("hello", "thanks", "bye")
    return next(kind for kind in kinds if any(each[kind] for each in met))


def is_small_talk(text: str) -> bool:
    """Tell whether a text is only a greeting, thanks, or asks who is there."""
    return small_talk(text) != ""
