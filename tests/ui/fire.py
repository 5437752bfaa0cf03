"""What a component's script does in a browser, done to an AppTest page."""

from __future__ import annotations

import json
from concurrent.futures import wait
from typing import Any

from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from explorer.ui.state import background


def component(page: AppTest, key: str) -> Any:
    """The protobuf of the component of that key that was drawn last.  Raises KeyError."""
    for element in page.get("bidi_component"):
        if element.proto.id.endswith(f"-{key}"):
            return element.proto
    raise KeyError(key)


def shown(page: AppTest) -> set[str]:
    """The keys of all components that were drawn in the last run."""
    return {element.proto.id.split("-", 2)[2] for element in page.get("bidi_component")}


def data(page: AppTest, key: str) -> Any:
    """What a component was given."""
    return json.loads(component(page, key).json)


def fire(page: AppTest, key: str, event: str, value: Any) -> AppTest:
    """Have a component fire an event, and run the page."""
    states = page._tree.get_widget_states()
    name = _make_trigger_id(component(page, key).id, "events")
    told = json.dumps([{"event": event, "value": value}])
    states.widgets.append(WidgetState(id=name, json_trigger_value=told))
    return page._run(states)


def settled(page: AppTest) -> AppTest:
    """Run the page until every question that it asks is answered."""
    while True:
        page.run()
        waiting = [each for each in background()._futures.values() if not each.done()]
        if not waiting:
            return page
        assert not wait(waiting, timeout=120).not_done
