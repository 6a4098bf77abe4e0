"""The services of the simulator, and the view: from a request to a change or an answer."""
