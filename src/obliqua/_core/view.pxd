"""Reading a NumPy matrix of float32 or float64 in place."""

from obliqua._core.types cimport View


cdef View make_view(object matrix) except *
