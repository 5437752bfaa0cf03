"""The TVM adapter.  Only worker processes import this package; nothing here keeps state."""
