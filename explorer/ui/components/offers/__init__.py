"""What can be done with the selected node, as groups of buttons; why not, where it can't."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from explorer.primitives import Offer
from explorer.ui.components.load import Callback, component

_component = component(Path(__file__).parent, '<div class="of"></div>')


def offers(found: list[Offer], *, key: str, on_take: Callback) -> None:
    """Show the offers; `on_take` runs when `take` fires with {"op", "label"}."""
    _component(
        key=key, height="content", data={"groups": offer_groups(found)}, on_take_change=on_take
    )


def offer_groups(found: list[Offer]) -> list[dict[str, Any]]:
    """Groups {"title", "refused", "reasons", "offers"} in the offers' order.

    What is refused stays among the offers with its reason, and each reason is told once; a group
    in which nothing can be done has reasons only.
    """
    groups: dict[str, list[Offer]] = {}
    for offer in found:
        groups.setdefault(offer.group, []).append(offer)
    return [_group(title, those) for title, those in groups.items()]


def _group(title: str, those: list[Offer]) -> dict[str, Any]:
    refused = [offer.refusal for offer in those if offer.refusal]
    return {
        "title": title,
        "refused": len(refused),
        "reasons": list(dict.fromkeys(refused)),
        "offers": [
            {
                "op": offer.op, "label": offer.label, "name": offer.label.removeprefix("Bind to "),
                "key": offer.key, "refusal": offer.refusal,
            }
            for offer in those
        ] if len(refused) < len(those) else [],
    }  # fmt: skip
