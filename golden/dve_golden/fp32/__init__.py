"""binary32 arithmetic of one lane, vectorised: formulas, fold, reciprocal."""
