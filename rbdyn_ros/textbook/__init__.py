"""The book's algorithms in plain NumPy, in link coordinates: to check the engine, and to learn.

Source: R. Featherstone, Rigid Body Dynamics Algorithms (RBDA), Springer 2008.
"""
