"""Messages: what a run said and did, and what an agent remembers."""

from collections.abc import Sequence

from ..manager.models import Run, RunStep, SessionId, StoredMessage
from ..manager.store.protocol_pages import MessagePage
from .asks import MemoryAsks, TranscriptAsks
from .dashboard import Dashboard
from .replies import MessageList
from .session_agents import agent_of
from .shaping_messages import messages
from .standing import find_run
from .steps import events_of_run, steps_of


async def transcript(dashboard: Dashboard, asked: TranscriptAsks) -> MessageList:
    """The messages of a run that are stored; of a fork its own ones."""
    store = dashboard.services.store
    run = await find_run(dashboard, asked.session, asked.run_id)
    page = await store.pages.message_page(
        run.conversation, run.run_id, offset=asked.offset, limit=asked.limit
    )
    if not page.total:
        rows = _from_journal(run, await store.run_steps(run.run_id))
        page = MessagePage(items=rows[asked.offset : asked.offset + asked.limit], total=len(rows))
    steps = steps_of(await events_of_run(store, run.run_id))
    return MessageList(
        items=messages(page.items, offset=asked.offset, steps=steps), total=page.total
    )


async def memory(dashboard: Dashboard, asked: MemoryAsks) -> MessageList:
    """What an agent has in its memory, whether or not memories are switched on."""
    session = SessionId(asked.session)
    await dashboard.check_session(session)
    agent = await agent_of(dashboard, session, asked.agent)
    page = await dashboard.services.store.pages.conversation_page(
        agent.conversation, offset=asked.offset, limit=asked.limit
    )
    return MessageList(items=messages(page.items, offset=asked.offset), total=page.total)


def _from_journal(run: Run, steps: Sequence[RunStep]) -> list[StoredMessage]:
    """The tool calls of a run whose agent is gone, and its messages with it."""
    bodies = [
        (step.at, body)
        for step in steps
        for body in (
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "id": step.key,
                        "function": {"name": step.name, "arguments": step.arguments},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": step.key, "content": step.output},
        )
    ]
    return [
        StoredMessage(
            conversation=run.conversation, seq=number, run_id=run.run_id, body=body, at=at
        )
        for number, (at, body) in enumerate(bodies, start=1)
    ]
