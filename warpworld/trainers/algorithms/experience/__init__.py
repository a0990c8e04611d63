"""Rows that policies learn from: of single steps, and of sequences for a policy with a memory."""

from warpworld.trainers.algorithms.experience.batch import NORM_EPS, Batch, blank, mean, normalise
from warpworld.trainers.algorithms.experience.sequences import Experience, Sequences, joined
from warpworld.trainers.algorithms.experience.trajectory_rows import (
    ends_of,
    experience_of,
    plain_rows,
    rows_at_once,
    rows_of_a_gpu,
    starts_of,
    step_values,
)

__all__ = [
    "NORM_EPS",
    "Batch",
    "Experience",
    "Sequences",
    "blank",
    "ends_of",
    "experience_of",
    "joined",
    "mean",
    "normalise",
    "plain_rows",
    "rows_at_once",
    "rows_of_a_gpu",
    "starts_of",
    "step_values",
]
