"""Bit-exact numpy model of the DVE batch-norm path; never imports dve_rtl."""
