"""Streamlit components of our own: plain files, no build step, nothing fetched from the network."""
