"""How pages show what an answer says. Knows no request, no row and no template."""

from responses_app.rendering.answer_html import answer_html

__all__ = ["answer_html"]
