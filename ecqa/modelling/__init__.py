"""Pairs to encodings to scores, and the training of what scores them. torch lives here, and is imported late."""
