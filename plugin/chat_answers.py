"""Answers that people give in the chat: a reply that quotes a question, or a bare message.

A bare message counts only where it cannot mean anything else: in a private chat, when exactly one
question is open, and when it is no command.
"""

from astrbot.api import logger
from astrbot.api.event import AstrMessageEvent
from astrbot.api.message_components import Plain, Reply
from astrbot.api.star import Context

from ..manager import Run, SessionId, Sessions, SubAgentManager
from ..manager.errors import NoOpenQuestion, SubAgentError
from ..manager.runs.asking import USER
from .asker import asker_of
from .languages import Languages

_CALLING = frozenset({"CommandFilter", "CommandGroupFilter", "RegexFilter"})
"""Kinds of AstrBot's filters that pick out messages by their words."""
_COMMAND_SIGNS = ("/", "\uff0f")
"""How people begin what they mean as a command, in both widths."""
_BEGINNING = 40
"""Characters of a question that platforms leave in a quote of it at least."""


class ChatAnswers:
    """Finds answers among the messages of chats."""

    def __init__(self, context: Context, sessions: Sessions, languages: Languages) -> None:
        self._context = context
        self._sessions = sessions
        self._languages = languages

    async def take(self, event: AstrMessageEvent) -> str:
        """Take a message for an answer if it is one.

        Returns:
            What the chat is told; "" when the message is no answer.
        """
        # only a session in memory can have open questions
        manager = self._sessions.loaded(SessionId(event.unified_msg_origin))
        if manager is None or not (asking := manager.runs.questions.open()):
            return ""
        if _is_command(event):
            return ""
        run = self._asked(event, asking, manager)
        text = _words(event)
        if run is None or not text:
            return ""
        try:
            await manager.answer(run.run_id, text, asker_of(event))
        except NoOpenQuestion:
            return ""
        except SubAgentError as error:
            logger.info("An answer in %s was not taken: %s", event.unified_msg_origin, error)
            return ""
        session = SessionId(event.unified_msg_origin)
        return self._languages.text("answer.done", session, name=run.agent or run.run_id)

    def _asked(
        self, event: AstrMessageEvent, asking: list[Run], manager: SubAgentManager
    ) -> Run | None:
        """The run whose question a message answers."""
        if quoted := _quoted(event):
            # not by the id alone: lists and other messages name it too, and questions other ids
            named = [run for run in asking if _asks(run, quoted)]
            return named[0] if len(named) == 1 else None
        asker = asker_of(event)
        mine = [run for run in asking if run.owner == asker.owner]
        if event.get_group_id() or len(asking) != 1 or not mine or not self._is_bare(event):
            return None
        # the model may be about to answer it: it was asked, the user was not
        shown = {run.run_id for run in manager.runs.questions.shown_to(USER)}
        return mine[0] if mine[0].run_id in shown else None

    def _is_bare(self, event: AstrMessageEvent) -> bool:
        """Whether a message is nothing but words, and not meant as a command."""
        parts = event.message_obj.message
        if not all(isinstance(part, Plain) for part in parts):
            return False
        signs = self._context.get_config(umo=event.unified_msg_origin).get("wake_prefix")
        signs = [each for each in signs if each] if isinstance(signs, list) else []
        text = "".join(part.text for part in parts).lstrip()
        return not text.startswith((*signs, *_COMMAND_SIGNS))


def _asks(run: Run, quoted: str) -> bool:
    """Whether a quoted text is the message that asked a run's question."""
    begin = run.question.strip()[:_BEGINNING]
    return run.run_id in quoted and _flat(begin) in _flat(quoted)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _quoted(event: AstrMessageEvent) -> str:
    """The text that a message quotes; "" when it quotes nothing that can be read."""
    for part in event.message_obj.message:
        if isinstance(part, Reply):
            words = [str(part.message_str or "")]
            words += [each.text for each in part.chain or () if isinstance(each, Plain)]
            return "\n".join(words)
    return ""


def _words(event: AstrMessageEvent) -> str:
    words = [part.text for part in event.message_obj.message if isinstance(part, Plain)]
    return " ".join(words).strip() or event.message_str.strip()


def _is_command(event: AstrMessageEvent) -> bool:
    """Whether some handler other than listeners to all messages is called by it."""
    handlers = event.get_extra("activated_handlers") or ()
    return any(_is_called(handler) for handler in handlers)


def _is_called(handler: object) -> bool:
    filters = getattr(handler, "event_filters", ())
    return any(type(each).__name__ in _CALLING for each in filters)
