"""TVM Schedule Explorer: `streamlit run app.py`, with `-- FILE` to open a file."""

import streamlit as st

from explorer.ui import page

st.set_page_config(page_title="TVM Schedule Explorer", page_icon="🧭", layout="wide")
page.draw()
