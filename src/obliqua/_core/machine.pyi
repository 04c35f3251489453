from obliqua._typing import FloatArray, Int32Array

def train(
    Y: FloatArray,
    classes: Int32Array,
    times: FloatArray,
    W: FloatArray,
    key: int,
    schedule: tuple[float, float, float, float, float],
    max_passes: int,
) -> tuple[int, int, float]: ...
def winners(Y: FloatArray, W: FloatArray) -> Int32Array: ...
