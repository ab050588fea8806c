"""Storage formats to binary32, the hub format, and back (isa_common.md 2.5)."""
