"""Trees changed by hand after they were grown: what an edits file says, done to a model."""

from obliqua.edit.applying import edited
from obliqua.edit.fingerprint import fingerprint
from obliqua.edit.log import log_of
from obliqua.edit.reading import Edit, Edits, read_edits
from obliqua.edit.recount import criterion_of, recounted

__all__ = [
    "Edit",
    "Edits",
    "criterion_of",
    "edited",
    "fingerprint",
    "log_of",
    "read_edits",
    "recounted",
]
