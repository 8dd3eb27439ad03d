# ruff: noqa: RUF001 - the texts are in three languages
"""What the stand-in says to people, in English, Chinese and Russian."""

from collections.abc import Mapping
from types import MappingProxyType

_TEXTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "en": {
            "about": (
                "(I am an offline stand-in, not a language model: I split requests, hand the "
                "parts to sub-agents and quote what they found.)"
            ),
            "hello": (
                "Hello! Ask me something about this plugin, for example: How do I protect a "
                "sub-agent, and what happens when a run times out? I make a sub-agent for each "
                "part of the question, they search the documentation side by side, and I put "
                "their quotes together."
            ),
            "thanks": "You are welcome. Ask me more about this plugin whenever you like.",
            "bye": "Goodbye! Come back whenever you want to know more about this plugin.",
            "nothing": "The documentation says nothing about it that I could find.",
            "no_hit": "no section of the documentation is about: {words}",
            "wordless": "the task has no words to look up",
            "failed": "This part could not be done: {reason}",
            "pending": "Still running: {tasks}. The result follows when it is there.",
            "no_tools": (
                "I was given no tools for this request, and without tools I can do nothing with it."
            ),
            "no_words": "I found no words in your message that I could look up.",
            "arrived": "Results that arrived from earlier work:",
            "resumed": "The bot was restarted while I was at this. Here is the answer.",
            "side_asked": "what was asked",
            "side_sources": "what the answers rest on",
            "side_open": "what is still open",
            "fork_nothing": "Nothing was asked before this, so there is nothing to judge yet.",
            "fork_asked": "Requests before this one: {count}.",
            "fork_sources": "Passages quoted: {count}, from: {files}.",
            "fork_open": "Parts without an answer: {count} of {parts}.",
            "plan": (
                "1. Call {tool} with the words: {words}. It must bring the sections about them.\n"
                "2. Choose the passages that answer the task. No tool is needed.\n"
                "3. Report them, each with its source, and say what was not found."
            ),
            "fault": (
                "1. Passages in the draft: {count}. None of them speaks of: {words}. Mend it: "
                "search for these words alone."
            ),
            "no_fault": (
                "Passages in the draft: {count}. They meet every key word of the task: I found no "
                "fault."
            ),
        },
        "zh": {
            "about": (
                "（我是离线替身，不是语言模型：我只会拆分请求、把各部分交给子代理，"
                "并引用它们找到的内容。）"
            ),
            "hello": (
                "你好！请问我关于这个插件的问题，例如：如何保护子代理，以及运行超时会怎样？"
                "我会为问题的每个部分创建一个子代理，让它们同时查阅文档，然后把引用合在一起。"
            ),
            "thanks": "不客气。关于这个插件，欢迎随时再问。",
            "bye": "再见！想进一步了解这个插件时，欢迎再来。",
            "nothing": "在文档中没有找到相关内容。",
            "no_hit": "文档中没有关于这些词的章节：{words}",
            "wordless": "任务里没有可以查询的词",
            "failed": "这一部分未能完成：{reason}",
            "pending": "仍在运行：{tasks}。完成后会给出结果。",
            "no_tools": "这个请求没有给我任何工具，没有工具我无法处理它。",
            "no_words": "在你的消息里没有找到可以查询的词。",
            "arrived": "先前工作的结果：",
            "resumed": "处理这条消息时机器人重启了。现在给出回答。",
            "side_asked": "问了什么",
            "side_sources": "回答依据什么",
            "side_open": "还有什么没有回答",
            "fork_nothing": "在此之前没有提过问题，所以还没有什么可以评价。",
            "fork_asked": "在此之前的请求数：{count}。",
            "fork_sources": "引用的段落数：{count}，来自：{files}。",
            "fork_open": "没有得到回答的部分：{count}（共 {parts}）。",
            "plan": (
                "1. 用这些词调用 {tool}：{words}。它应给出有关的章节。\n"
                "2. 选出能回答任务的段落，不需要工具。\n"
                "3. 报告这些段落和各自的来源，并说明没有找到什么。"
            ),
            "fault": (
                "1. 草稿依据 {count} 个段落，其中没有一个谈到：{words}。"
                "改进办法：只用这些词再查一次。"
            ),
            "no_fault": "草稿依据 {count} 个段落，任务的每个关键词都谈到了。没有发现错误。",
        },
        "ru": {
            "about": (
                "(Я офлайн-заглушка, а не языковая модель: я делю запрос на части, отдаю их "
                "субагентам и привожу найденные ими цитаты.)"
            ),
            "hello": (
                "Здравствуйте! Спросите меня об этом плагине, например: Как защитить субагента, "
                "и что происходит при таймауте? Для каждой части вопроса я создам субагента, они "
                "одновременно поищут в документации, а я сведу цитаты вместе."
            ),
            "thanks": "Пожалуйста. Спрашивайте об этом плагине, когда захотите.",
            "bye": "До свидания! Возвращайтесь, если захотите узнать о плагине больше.",
            "nothing": "В документации об этом ничего не нашлось.",
            "no_hit": "в документации нет раздела об этом: {words}",
            "wordless": "в задании нет слов, которые можно было бы поискать",
            "failed": "Эту часть выполнить не удалось: {reason}",
            "pending": "Ещё выполняется: {tasks}. Результат придёт, когда будет готов.",
            "no_tools": (
                "Для этого запроса мне не дали инструментов, а без них я ничего не могу сделать."
            ),
            "no_words": "В вашем сообщении нет слов, которые можно было бы поискать.",
            "arrived": "Пришли результаты прежней работы:",
            "resumed": "Бот был перезапущен во время этой работы. Вот ответ.",
            "side_asked": "о чём спрашивали",
            "side_sources": "на чём держатся ответы",
            "side_open": "что осталось без ответа",
            "fork_nothing": "До этого ничего не спрашивали, так что оценивать пока нечего.",
            "fork_asked": "Запросов до этого: {count}.",
            "fork_sources": "Приведено цитат: {count}, источники: {files}.",
            "fork_open": "Частей без ответа: {count} из {parts}.",
            "plan": (
                "1. Вызвать {tool} со словами: {words}. Он должен дать разделы о них.\n"
                "2. Выбрать отрывки, которые отвечают на задание. Инструмент не нужен.\n"
                "3. Привести их с источниками и сказать, что не нашлось."
            ),
            "fault": (
                "1. Черновик держится на цитатах, их {count}, и ни одна не говорит о: {words}. "
                "Исправить: поискать только эти слова."
            ),
            "no_fault": (
                "Черновик держится на цитатах, их {count}, и они касаются каждого ключевого слова. "
                "Ошибок не найдено."
            ),
        },
    }
)


def say(key: str, language: str, **values: str) -> str:
    """Return a text in one of the three languages of `words.language_of`."""
    return _TEXTS[language][key].format(**values)
