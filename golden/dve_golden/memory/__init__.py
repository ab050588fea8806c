"""Where operands lie: address decode, walks, load and store."""
