"""The one error tree of ecqa.

    EcqaError                 exit code 1
    |-- UsageError            exit code 2   the command line or a config is wrong
    |   `-- ConfigError                     an unknown key or a value out of range
    |-- InputError            exit code 3   the input cannot be read or holds nothing to do
    |   |-- MissingError                    it is not there
    |   `-- DeniedError                     it is there, and may not be read
    |-- OutputError           exit code 4   the output cannot be written
    |   `-- FingerprintError                the output folder belongs to a different run
    |-- ModelError            exit code 5   a model directory is missing or does not fit
    |-- SchemaError           exit code 6   a table breaks its contract (a fault of ecqa or of a custom stage)
    |   `-- MisfitError                     one value does not fit its column: a row's fault, so the row is set aside
    |-- EngineError           exit code 7   the cluster refused or lost the job
    |   `-- ResourceError                   the cluster cannot hold what the job asks for
    |-- BooksError            exit code 8   rows in and rows out do not match
    `-- Interrupted           exit code 9   SIGTERM: shards in hand were finished, run the same command to go on

A message is one line that names the thing, what was got, what was expected, and what to do.
"""


class EcqaError(Exception):
    """Anything ecqa raises on purpose; ``exit_code`` is what the command line returns for it."""

    exit_code = 1


class UsageError(EcqaError):
    """The command line or a config is wrong."""

    exit_code = 2


class ConfigError(UsageError):
    """A config holds an unknown key or a value out of range."""


class InputError(EcqaError):
    """The input cannot be read, or holds nothing to work on."""

    exit_code = 3


class MissingError(InputError):
    """An input is not there."""


class DeniedError(InputError):
    """An input may not be read."""


class OutputError(EcqaError):
    """The output cannot be written."""

    exit_code = 4


class FingerprintError(OutputError):
    """The output folder holds the results of a run with other settings."""


class ModelError(EcqaError):
    """A model directory is missing, incomplete or does not fit the taxonomy."""

    exit_code = 5


class SchemaError(EcqaError):
    """A table does not fulfil its contract schema."""

    exit_code = 6


class MisfitError(SchemaError):
    """A value does not fit its column."""


class EngineError(EcqaError):
    """The cluster refused the job or lost it."""

    exit_code = 7


class ResourceError(EngineError):
    """The cluster cannot hold what the job asks for."""


class BooksError(EcqaError):
    """The accounts of a run do not close."""

    exit_code = 8


class Interrupted(EcqaError):
    """The run was told to stop; every shard in hand is committed, and the same command goes on from there."""

    exit_code = 9
