"""The compiled functions of the loop; cycle.py calls the others."""
