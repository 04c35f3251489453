from obliqua._typing import FloatArray

def py_solve(
    matrix: FloatArray, vector: FloatArray, lower: bool = True, upper: bool = True
) -> FloatArray | None: ...
