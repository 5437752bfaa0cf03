"""Rows of the tables in bench/README.md: a median and a ninth decile against a limit."""

from __future__ import annotations

import statistics

import msgspec


class Row(msgspec.Struct, frozen=True):
    """One line of a table; all times in milliseconds."""

    what: str
    count: int
    p50_ms: float
    p90_ms: float
    limit_ms: float | None

    @property
    def within(self) -> bool:
        """Whether the median keeps the limit."""
        return self.limit_ms is None or self.p50_ms <= self.limit_ms


def row(what: str, times: list[float], limit_ms: float | None) -> Row:
    """Median and ninth decile of `times`."""
    p90 = statistics.quantiles(times, n=10)[-1] if len(times) > 1 else times[0]
    return Row(what, len(times), statistics.median(times), min(p90, max(times)), limit_ms)


def finish(rows: list[Row], as_json: bool) -> int:
    """Print the rows; the exit code is 1 when a limit is not kept."""
    print(msgspec.json.encode(rows).decode() if as_json else table(rows))
    return 0 if all(row.within for row in rows) else 1


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    lines = ["| what | n | p50 ms | p90 ms | limit (p50) |", "|---|--:|--:|--:|--:|"]
    for each in rows:
        limit = "-" if each.limit_ms is None else f"{each.limit_ms:g}"
        lines.append(
            f"| {each.what} | {each.count} | {each.p50_ms:.0f} | {each.p90_ms:.0f} | {limit} |"
        )
    return "\n".join(lines)
