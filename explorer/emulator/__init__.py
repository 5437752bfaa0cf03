"""Runs CUDA text on the CPU: one fiber per thread, every memory access checked.  No TVM here."""
