class Finder:
    key: int
    bias: float
    def finished(self) -> None: ...
