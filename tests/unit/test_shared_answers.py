"""Answers that are shared by those who ask AstrBot the same at the same time."""

import asyncio

import pytest

from astrbot_plugin_subagents.plugin.shared_answers import SharedAnswers


class Source:
    """Answers when it is let; each answer is the number of the look."""

    def __init__(self) -> None:
        self.looks = 0
        self.open = asyncio.Event()
        self.error: Exception | None = None

    async def look(self) -> int:
        """Look once."""
        self.looks += 1
        number = self.looks
        await self.open.wait()
        if self.error is not None:
            raise self.error
        return number


async def begun(*asking: asyncio.Task[int]) -> None:
    """Let tasks come as far as they can."""
    assert asking
    for _ in range(5):
        await asyncio.sleep(0)


def ask(
    answers: SharedAnswers[str, int], source: Source, question: str = "may it?"
) -> asyncio.Task[int]:
    """Ask in a task of its own."""
    return asyncio.create_task(answers.ask(question, source.look))


async def test_an_answer_is_never_older_than_its_question() -> None:
    answers, source = SharedAnswers[str, int](), Source()
    first = ask(answers, source)
    await begun(first)
    later = [ask(answers, source) for _ in range(3)]
    await begun(*later)
    source.open.set()

    assert await first == 1
    assert await asyncio.gather(*later) == [2, 2, 2]
    assert source.looks == 2


async def test_nothing_is_kept_for_who_asks_afterwards() -> None:
    answers, source = SharedAnswers[str, int](), Source()
    source.open.set()

    assert await ask(answers, source) == 1
    assert await ask(answers, source) == 2


async def test_different_questions_do_not_wait_for_each_other() -> None:
    answers, slow, quick = SharedAnswers[str, int](), Source(), Source()
    quick.open.set()
    waiting = ask(answers, slow, "slow?")
    await begun(waiting)

    async with asyncio.timeout(5):
        assert await ask(answers, quick, "quick?") == 1

    slow.open.set()
    assert await waiting == 1


async def test_who_is_cancelled_takes_nobody_along() -> None:
    answers, source = SharedAnswers[str, int](), Source()
    first = ask(answers, source)
    await begun(first)
    asks_for_all, others = ask(answers, source), [ask(answers, source) for _ in range(2)]
    await begun(asks_for_all, *others)
    asks_for_all.cancel()
    others[0].cancel()
    first.cancel()
    await begun(first, asks_for_all)
    source.open.set()

    async with asyncio.timeout(5):
        assert await others[1] == 2
    assert [each.cancelled() for each in (first, asks_for_all, others[0])] == [True, True, True]


async def test_an_error_comes_to_all_who_shared_the_question() -> None:
    answers, source = SharedAnswers[str, int](), Source()
    first = ask(answers, source)
    await begun(first)
    later = [ask(answers, source) for _ in range(2)]
    await begun(*later)
    source.error = ValueError("it is gone")
    source.open.set()

    for asking in (first, *later):
        with pytest.raises(ValueError, match="it is gone"):
            await asking
    assert source.looks == 2
