"""The door for callers: views and urls. Thin: no business rule lives here."""
