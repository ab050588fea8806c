"""All measurements of the page."""

from dve_cosim.progress import Progress, silent

from dve_studies.training.gradients import DEVIATIONS, ORDERS, errors, orders
from dve_studies.training.results import Study
from dve_studies.training.runs import SEEDS, STEPS, training


def run(steps: int = STEPS, seeds: int = SEEDS, progress: Progress = silent) -> Study:
    """Measure everything; fewer steps of training and fewer seeds are quicker."""
    found = []
    for done, deviations in enumerate(DEVIATIONS):
        progress("gradients", done, len(DEVIATIONS))
        found += errors(deviations)
    progress("gradients", len(DEVIATIONS), len(DEVIATIONS))
    return Study(found, orders(ORDERS), training(steps, seeds, progress=progress))
