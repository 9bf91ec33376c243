"""The program of `warder agent`. README.md names its modules."""
