"""The arithmetic of a race, on plain numbers: intervals, verdicts, rounds, impossible figures."""
