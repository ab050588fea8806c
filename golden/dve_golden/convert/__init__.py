"""Storage formats to binary32 and back; the only place where a format's bits are looked at."""
