"""Scores to statistics: call scores, metrics, agreement, reports."""
