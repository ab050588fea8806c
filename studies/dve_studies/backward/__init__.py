"""How accurate the backward pass of the engine is, against binary64 and against bf16 intermediates.

The page is ``docs/studies/backward.md``; ``python -m dve_studies.backward`` measures.
"""
