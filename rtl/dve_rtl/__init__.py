"""Synthesizable DVE batch-norm path, in the order data flows.

frontend (gather, decode, validate, dispatch) -> sequencer -> memory (walkers, load) ->
convert (widen) -> fp32 units under a lane program -> convert (narrow) -> memory (store).
"""
