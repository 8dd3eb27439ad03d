"""Guiding runs: answering their questions, steering them at work, doing them once more."""

from dataclasses import replace

from .delegation import Delegation
from .errors import InvalidArgument, NoOpenQuestion, RunAlreadyFinished, RunNotFinished
from .models import Asker, Run, RunId, RunState, Usage
from .reading import RunReader
from .runs.desk import RunDesk
from .services import Services


class Guiding:
    """Guides the runs of one session."""

    def __init__(
        self, services: Services, runs: RunDesk, reader: RunReader, delegation: Delegation
    ) -> None:
        self._services = services
        self._runs = runs
        self._reader = reader
        self._delegation = delegation

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
        """
        old = await self._reader.run(task_id, asker)
        if not old.is_over:
            raise RunNotFinished(old.run_id, old.state)
        return await self._runs.start(self._again(old), self._services.settings())

    def _again(self, old: Run) -> Run:
        run_id = RunId(self._services.clock.new_id())
        conversation = self._delegation.conversation_of(old, run_id)
        return replace(
            old,
            run_id=run_id,
            conversation=conversation,
            background=True,
            state=RunState.QUEUED,
            origin=replace(old.origin, turn_id=""),
            created_at=self._services.clock.now(),
            started_at=None,
            finished_at=None,
            model="",
            steps=0,
            usage=Usage(),
            tools_given=0,
            tools_used=(),
            last_text="",
            artifacts=(),
            question="",
            cut_short="",
            failure=None,
            fence=0,
        )
