"""Refuse paths on which an arm would touch itself or its world."""
