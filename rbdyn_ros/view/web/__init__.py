"""Views in a web browser, served by viser."""
