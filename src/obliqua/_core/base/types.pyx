"""Reading a NumPy matrix of float32 or float64 in place."""


cdef View make_view(object matrix) except *:
    """A view of the matrix; the caller keeps the matrix alive."""
    cdef View view
    cdef const float[:, :] single
    cdef const double[:, :] double_
    if matrix.dtype.itemsize == 4:
        single = matrix
        view.data = <const void*> &single[0, 0] if single.shape[0] and single.shape[1] else NULL
        view.row_stride = single.strides[0] // 4
        view.col_stride = single.strides[1] // 4
        view.n_rows, view.n_cols = single.shape[0], single.shape[1]
        view.single = True
    else:
        double_ = matrix
        view.data = <const void*> &double_[0, 0] if double_.shape[0] and double_.shape[1] else NULL
        view.row_stride = double_.strides[0] // 8
        view.col_stride = double_.strides[1] // 8
        view.n_rows, view.n_cols = double_.shape[0], double_.shape[1]
        view.single = False
    return view
