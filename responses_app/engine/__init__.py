"""The agent turn: loop, steps, event assembly. Pure Python: no ORM, no HTTP framework, no Celery."""
