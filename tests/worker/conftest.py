from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from explorer.worker.limits import Limits, Settings
from explorer.worker.pool import Pool

SETTINGS = Settings(
    answers="tests.worker.verbs:ANSWERS",
    warm_up="tests.worker.verbs:warm_up",
    limits=Limits(memory_bytes=512 << 20, file_bytes=8 << 20, answer_bytes=1 << 20),
)


@pytest.fixture
def make_pool() -> Iterator[Callable[..., Pool]]:
    pools: list[Pool] = []

    def make(settings: Settings = SETTINGS, **sizes: int) -> Pool:
        pools.append(Pool(settings, **sizes))
        return pools[-1]

    yield make
    for pool in pools:
        pool.close()


@pytest.fixture
def pool(make_pool: Callable[..., Pool]) -> Pool:
    return make_pool()
