"""How accurate the engine's eight-partial fold is, against other ways of summing, and at what cost.

The page is ``docs/studies/summation.md``; ``python -m dve_studies.summation`` measures.
"""
