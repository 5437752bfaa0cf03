"""The parts of the page.  A panel gets plain data and hangs moves on its controls."""
