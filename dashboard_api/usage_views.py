"""What runs used: by day, agent, model and session."""

from datetime import timedelta

from ..manager.models import SessionId
from ..manager.runs.budget import day_start
from ..manager.store.protocol_pages import UsageSum
from .asks import UsageAsks
from .dashboard import Dashboard
from .replies_pages import AgentUsage, DayUsage, ModelUsage, SessionUsage, UsagePage
from .shaping import title_of, usage_reply

_TOP = 20


async def usage(dashboard: Dashboard, asked: UsageAsks) -> UsagePage:
    """What the runs used that were created in the last days."""
    pages = dashboard.services.store.pages
    session = SessionId(asked.session) if asked.session is not None else None
    since = day_start(dashboard.now) - timedelta(days=asked.days - 1)
    by_day = {
        each.key: each for each in await pages.usage_sums("day", since=since, session=session)
    }
    days = [(since + timedelta(days=each)).date().isoformat() for each in range(asked.days)]
    return UsagePage(
        days=[_day(by_day.get(day, UsageSum(key=day))) for day in days],
        agents=[
            AgentUsage(
                agent=each.key, runs=each.runs, failed=each.failed, usage=usage_reply(each.usage)
            )
            for each in await pages.usage_sums("agent", since=since, session=session, most=_TOP)
        ],
        models=[
            ModelUsage(model=each.key, runs=each.runs, usage=usage_reply(each.usage))
            for each in await pages.usage_sums("model", since=since, session=session, most=_TOP)
        ],
        sessions=[
            SessionUsage(
                session=each.key,
                title=title_of(SessionId(each.key)),
                runs=each.runs,
                usage=usage_reply(each.usage),
            )
            for each in await pages.usage_sums("session", since=since, session=session, most=_TOP)
        ],
    )


def _day(used: UsageSum) -> DayUsage:
    return DayUsage(
        day=used.key,
        runs=used.runs,
        failed=used.failed,
        input=used.usage.input,
        cached=used.usage.cached,
        output=used.usage.output,
    )
