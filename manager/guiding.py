"""Guiding runs: answering their questions, steering them at work, doing them once more."""

from .errors import InvalidArgument, NoOpenQuestion, RunAlreadyFinished, RunNotFinished
from .models import Asker, Run
from .reading import RunReader
from .repeating import Repeating
from .runs.desk import RunDesk


class Guiding:
    """Guides the runs of one session."""

    def __init__(self, runs: RunDesk, reader: RunReader, repeating: Repeating) -> None:
        self._runs = runs
        self._reader = reader
        self._repeating = repeating

    async def answer(self, task_id: str, text: str, asker: Asker) -> Run:
        """Answer a run's question; it goes on with the answer.

        Raises:
            RunNotFound: No such run here.
            NotPermitted: It is another user's.
            InvalidArgument: The answer is empty.
            NoOpenQuestion: It asks nothing now.
        """
        if not text.strip():
            raise InvalidArgument("answer", "must not be empty")
        run = await self._reader.run(task_id, asker)
        questions = self._runs.questions
        if not questions.answer(run.run_id, text):
            mine = [each for each in questions.open() if self._reader.may_read(each, asker)]
            raise NoOpenQuestion(run.run_id, [each.run_id for each in mine])
        return run

    async def steer(self, task_id: str, text: str, asker: Asker) -> Run:
        """Tell a run something that it sees before its next model request.

        Raises:
            RunNotFound: No such run here.
            NotPermitted: It is another user's.
            InvalidArgument: The text is empty.
            RunAlreadyFinished: It is over.
        """
        if not text.strip():
            raise InvalidArgument("text", "must not be empty")
        run = await self._reader.run(task_id, asker)
        if not self._runs.steer(run.run_id, text):
            raise RunAlreadyFinished(run.run_id, (await self._runs.find(run.run_id)).state)
        return run

    async def retry(self, task_id: str, asker: Asker) -> Run:
        """Do a finished task once more, in the background, as what it was and for whom it was.

        Returns:
            The new run.

        Raises:
            RunNotFound: No such run here.
            NotPermitted: It is another user's.
            RunNotFinished: It is still under way.
            AgentNotFound: Its agent is gone.
            AlreadyRunning: The same is under way already.
            PredecessorMissing: Something that it builds on is not completed.
            LimitReached: Too many tasks are being done once more.
        """
        old = await self._reader.run(task_id, asker)
        if not old.is_over:
            raise RunNotFinished(old.run_id, old.state)
        return await self._repeating.start(old)
