"""Verdicts, launches, sizes, tables: the words, and that nothing untrusted becomes markup."""

from __future__ import annotations

import re

import msgspec
import pytest

from explorer.errors import Problem
from explorer.model.diagnosis import Launch, TriedCure
from explorer.model.nest import Nest
from explorer.model.result import Build, Check, Finding, FunctionBuild, Kernel, RuleOutcome, Time
from explorer.ui import say, words
from explorer.ui.ask import Result
from explorer.ui.panels import automatic, findings
from tests.ui.nests import block, function, loop

KERNEL = Kernel(
    name="main_kernel", grid=("8", "1", "1"), block=("128", "2", "1"), shared_bytes=4096
)


def built(*functions: FunctionBuild, **more: object) -> Result:
    return Result(build=Build(status="built", functions=functions, **more))  # type: ignore[arg-type]


def checked(status: str, name: str = "main", detail: str = "why") -> FunctionBuild:
    check = Check(status=status, detail=detail)  # type: ignore[arg-type]
    return FunctionBuild(name=name, status="built", kernels=(KERNEL,), check=check)


ERROR = Finding(code="axis_twice", severity="error", function="main", where="i", message="twice")


@pytest.mark.parametrize(
    ("result", "text", "tone"),
    [
        (Result(waiting="building"), "building…", "busy"),
        (Result(problem=Problem(kind="WorkerDied", what="It ended.")), "does not build", "bad"),
        (built(checked("match")), "match", "good"),
        (built(checked("match"), checked("mismatch", "other")), "wrong result", "bad"),
        (built(checked("match"), checked("not_checked", "other")), "not checked", "calm"),
        (built(checked("race")), "race", "bad"),
        (built(checked("match"), findings=(ERROR,)), "error", "bad"),
        (built(checked("mismatch"), findings=(ERROR,)), "wrong result", "bad"),
        (built(FunctionBuild(name="f", status="no_kernel", reason="No.")), "no kernel", "bad"),
        (Result(build=Build(status="refused", reason="Gone.")), "refused", "bad"),
        (Result(build=Build(status="not_applicable", reason="-")), "nothing to build", "calm"),
    ],
)
def test_badge(result: Result, text: str, tone: str) -> None:
    badge = words.result_badge(result)
    assert (badge.text, badge.tone) == (text, tone)


def test_reasons_of_several_functions_name_them() -> None:
    one = FunctionBuild(name="f", status="no_kernel", reason="i is unbound.")
    other = msgspec.structs.replace(one, name="g", reason="j is unbound.")
    assert words.result_badge(built(one)).why == "i is unbound."
    both = Result(build=Build(status="failed", functions=(one, other)))
    assert words.result_badge(both).why == "f: i is unbound. g: j is unbound."


def test_what_tvm_can_not_lower_is_not_called_unbound() -> None:
    bound = FunctionBuild(name="f", status="no_kernel", reason="A CPU has no such axes.")
    why = Finding(code="not_lowered", severity="error", function="f", where="f", message="axes")
    assert words.result_badge(built(bound, findings=(why,))).text == "does not build"


def test_kernels_that_leave_work_to_the_host_are_called_that() -> None:
    partly = FunctionBuild(name="f", status="no_kernel", reason="b1 runs there.", kernels=(KERNEL,))
    why = Finding(code="partly_on_host", severity="error", function="f", where="b1", message="b1")
    result = built(partly, findings=(why,))
    assert words.result_badge(result).text == "partly on host"
    assert result.build is not None
    assert words.kernel_badge(result.build, partly, "").text == "partly on host"


def test_a_match_is_not_claimed_while_anything_runs() -> None:
    waiting = msgspec.structs.replace(built(checked("match")), waiting="checking")
    assert words.result_badge(waiting).text == "checking…"


def test_text_that_nvrtc_refused_does_not_build() -> None:
    refused = msgspec.structs.replace(checked("not_checked"), status="no_kernel", reason="ptxas")
    assert words.result_badge(built(refused)).text == "does not build"


def test_launch_in_words() -> None:
    assert words.launch(KERNEL) == "grid 8 · block 128×2 · 4 KiB shared"
    twice = msgspec.structs.replace(KERNEL, launches="16", dynamic_shared_bytes=1536)
    assert words.launch(twice).endswith("1.5 KiB dynamic shared · launched 16 times")


@pytest.mark.parametrize(
    ("nbytes", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (5 << 30, "5 GiB")]
)
def test_sizes(nbytes: int, text: str) -> None:
    assert words.size(nbytes) == text


def test_time_is_never_invented() -> None:
    assert words.time_text(Time(status="not_measured", reason="no GPU")) == "not measured"
    measured = Time(status="measured", median_us=12.34, low_us=12.0, high_us=13.0)
    assert words.time_text(measured) == "12.3 µs (12.0 to 13.0)"


def test_untrusted_text_is_escaped() -> None:
    evil = "<img src=x onerror=alert(1)>"
    assert "<img" not in words.facts_html(words.node_facts(block("main/0", predicate=evil)))
    assert "<img" not in words.badge_html(words.Badge(evil, "bad", evil))
    told = (RuleOutcome(rule=evil, function=evil, status="failed", reason=evil, details=evil),)
    assert "<img" not in automatic.outcomes_html(evil, told)


def test_cures_are_listed_once_and_named() -> None:
    first = msgspec.structs.replace(ERROR, cures=("bind:main/0", "strategy:dlight"))
    second = msgspec.structs.replace(ERROR, cures=("bind:other/0", "strategy:dlight"))
    assert findings.cures([first, second]) == ["bind:", "strategy:dlight"]
    assert findings.cure_label("bind:") == "Bind for me"
    assert findings.cure_label("strategy:default_gpu") == "Use DefaultGPUSchedule"


def test_a_tried_cure_shows_launch_and_verdict_or_why_not() -> None:
    launch = Launch(function="f", kernel="k", grid=("4", "2", "1"), block=("8", "16", "1"))
    good = TriedCure(
        id="strategy:dlight", label="dlight", outcome="works", launches=(launch,),
        check=Check(status="match", detail="Same."),
    )  # fmt: skip
    assert "4×2×1 blocks of 8×16×1 threads" in findings.tried_html(good)
    assert "match" in findings.tried_html(good)
    bad = msgspec.structs.replace(good, outcome="fails", reason="<b>no</b>")
    assert "&lt;b&gt;no&lt;/b&gt;" in findings.tried_html(bad)
    assert "being tried" in findings.tried_html(None)


def test_an_unbound_nest_is_lit_down_to_its_block() -> None:
    nodes = (
        loop("main/0", "i", 0, "main/0/0"),
        loop("main/0/0", "k", 1, "main/0/0/0", kind="reduction"),
        block("main/0/0/0"),
    )
    nest = Nest((function(nodes=nodes),))
    bare = msgspec.structs.replace(ERROR, code="no_kernel", node="main/0")
    build = Build(status="failed", findings=(bare,))
    assert findings.lit(build, nest) == ("main/0", "main/0/0")
    other = msgspec.structs.replace(ERROR, node="main/0")
    assert findings.lit(Build(status="built", findings=(other,)), nest) == ("main/0",)


def test_the_same_finding_in_many_places_is_one_row() -> None:
    many = tuple(msgspec.structs.replace(ERROR, where=f"A[{n}]") for n in range(30))
    groups = findings.grouped((*many, msgspec.structs.replace(ERROR, code="other")))
    assert [len(group) for group in groups] == [30, 1]


@pytest.mark.parametrize(
    "evil", ["![x](http://a/b.png)", "<img src=x>", "[a](javascript:1)", ":red[x]"]
)
def test_labels_and_messages_are_plain_text(evil: str) -> None:
    assert not set("![]()<>:`*_") & set(re.sub(r"\\.", "", say.plain(evil)))
    assert "<img" not in say.inline(evil)
    assert say.inline("use `T.sblock` & go") == "use <code>T.sblock</code> &amp; go"
