"""The system tests: run inside a guest, as root, by run_lane.py."""
