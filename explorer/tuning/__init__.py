"""Tuning jobs as plain files: what is asked, what has happened, what follows from it.  No TVM."""
