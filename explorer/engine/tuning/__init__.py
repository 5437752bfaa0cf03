"""Tuning on TVM's objects: its schedule rules, postprocessors and mutators, searched by us."""
