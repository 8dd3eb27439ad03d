"""A core that is killed again and again; `scripts/torture.py` starts and kills it."""
