"""The instruction set in one place: codes, struct tables, encode, decode, text form."""
