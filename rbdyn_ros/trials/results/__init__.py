"""The runs of a trial on disk, and what they say."""
