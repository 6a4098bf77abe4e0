"""The runs of a trial on disk, and their verdict."""
