"""The operators of the tensor-tensor instructions, on fp32 and on raw elements."""
