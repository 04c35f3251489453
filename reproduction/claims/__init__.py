"""What the papers conclude, each conclusion judged by an experiment and a test.

`judging` says what a verdict needs, `evidence` takes it from the logs, `experiments` has what the
papers' own tables do not hold, and `page` writes docs/claims.md. The conclusions stand in a file
per paper.
"""
