from obliqua._typing import FloatArray, Int32Array

class TrainingWatch:
    stop: bool
    @property
    def late(self) -> bool: ...
    def __init__(self, deadline: float | None = None) -> None: ...

def train(
    Y: FloatArray,
    classes: Int32Array,
    times: FloatArray,
    W: FloatArray,
    key: int,
    schedule: tuple[float, float, float, float, float],
    max_passes: int,
    watch: TrainingWatch | None = None,
) -> tuple[int, int, float]: ...
def winners(Y: FloatArray, W: FloatArray) -> Int32Array: ...
