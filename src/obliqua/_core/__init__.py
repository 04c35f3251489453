"""The compiled room: numbers in, numbers out.

Nothing here knows scikit-learn, strings or validation. Every kernel has a slow twin in
``tests/reference`` that says what it must compute.
"""
