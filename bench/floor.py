"""The least a Streamlit page can take: one component that counts the keys pressed on it."""

import streamlit as st

JS = """
export default function ({ data, parentElement, setTriggerValue }) {
  const box = parentElement.querySelector("[role=button]");
  box.setAttribute("aria-label", "pressed " + data.count);
  box.onkeydown = () => setTriggerValue("press", true);
}
"""
HTML = '<div data-testid="box" tabindex="0" role="button" style="height:9rem">Press a key</div>'


def pressed() -> None:
    """One more."""
    st.session_state["count"] = st.session_state.get("count", 0) + 1


box = st.components.v2.component("floor", html=HTML, js=JS)
box(key="box", data={"count": st.session_state.get("count", 0)}, on_press_change=pressed)
