"""What is certified, subject by subject."""

from __future__ import annotations

from checks.certified.statements import Subject
from checks.certified.subjects import activation, circuits, forms, kernels, scores

SUBJECTS: tuple[Subject, ...] = (
    *kernels.SUBJECTS,
    *forms.SUBJECTS,
    *scores.SUBJECTS,
    *activation.SUBJECTS,
    *circuits.SUBJECTS,
)
