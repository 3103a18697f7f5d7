"""The figures and tables of the paper and its supplement, by number."""

__all__ = ["ITEMS"]

ITEMS = {
    "Figure 1": "Simulation 1: boundaries when targeting 0.3 and 0.5",
    "Figure 2": "Simulation 1: difference in net benefit by prevalence, sample size, threshold",
    "Figure 3": "Simulation 2: optimal, standard and tailored boundaries",
    "Figure 4": "Simulation 2: difference in net benefit by prevalence, sample size, threshold",
    "Figure 5": "Simulation 3: a contaminated sample",
    "Figure 6": "Simulation 3: net benefit by contamination and threshold",
    "Figure 7": "Breast cancer: difference in net benefit",
    "Figure 8": "Breast cancer: posteriors of the coefficients",
    "Table 1": "Breast cancer: overlap of the posteriors",
    "Figure 9": "Cardiac surgery: difference in net benefit",
    "Figure 10": "Cardiac surgery: intervals of the coefficients",
    "Figure 11": "Breast cancer: predictive distributions of two patients",
    "Figure S1": "How the data are split",
    "Figure S2": "Simulation 1: boundaries under class imbalance",
    "Figure S3": "Simulation 2: difference in net benefit from BART",
    "Figure S4": "Breast tumours: difference in net benefit",
    "Figure S5": "Breast tumours: intervals of the coefficients",
    "Figure S6": "Breast cancer: weights by reference risk",
    "Figure S7": "Simulation 2: width of the intervals",
    "Figure S8": "Breast cancer: effective sample size by discount",
    "Figure S9": "Breast cancer: net benefit by discount",
    "Figure S10": "Breast cancer: calibration of the reference risk, and its perturbations",
    "Figure S11": "Breast cancer: difference in net benefit under miscalibration",
    "Figure S12": "Breast cancer: difference in net benefit by weighting function",
}
"""Label to subject, in the paper's order."""
