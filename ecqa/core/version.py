"""The version of ecqa; recorded with every run, never part of a fingerprint."""

VERSION = "0.1.0"
