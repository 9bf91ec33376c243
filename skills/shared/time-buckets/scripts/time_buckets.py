"""Records over time."""
from datetime import datetime, timedelta, timezone

_MOST = 100_000


def time_buckets(records, field, by="day", of=None):
    if by not in ("minute", "hour", "day", "week", "month"):
        raise ValueError("by is 'minute', 'hour', 'day', 'week' or 'month'")
    sums = {}
    for record in records:
        value = record.get(field)
        if value is not None:
            start = _start(_time(value), by)
            sums[start] = sums.get(start, 0) + (1 if of is None else record.get(of) or 0)
    answer = []
    at, last = (min(sums), max(sums)) if sums else (None, None)
    while sums and at <= last:
        if len(answer) == _MOST:
            raise ValueError(f"more than {_MOST} buckets: choose larger ones")
        answer.append([at.strftime("%Y-%m-%d" if by in ("day", "week", "month") else "%Y-%m-%d %H:%M"), sums.get(at, 0)])
        at = _next(at, by)
    return answer


def _time(value):
    if isinstance(value, (int, float)):
        return datetime.fromtimestamp(value, timezone.utc).replace(tzinfo=None)
    time = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return time.astimezone(timezone.utc).replace(tzinfo=None) if time.tzinfo else time


def _start(time, by):
    time = time.replace(second=0, microsecond=0)
    if by == "minute":
        return time
    time = time.replace(minute=0)
    if by == "hour":
        return time
    time = time.replace(hour=0)
    if by == "week":
        return time - timedelta(days=time.weekday())
    return time.replace(day=1) if by == "month" else time


def _next(time, by):
    if by == "month":
        return time.replace(year=time.year + time.month // 12, month=time.month % 12 + 1)
    return time + {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1),
                   "week": timedelta(weeks=1)}[by]
