"""Pure values: what the worker answers and what the user interface shows.  No TVM, no Streamlit."""
