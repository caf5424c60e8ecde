"""What has no number of its own, and why."""

from __future__ import annotations

FACE = "no trained head lies on this face of the simplex; tests/forms/test_coordinates.py constructs both sides"
LEMMA = "a lemma of algebra, used in the proofs of measured theorems"

EXPLAINED: dict[str, str] = {
    "cauchy_schwarz": LEMMA,
    "jensen_of_convex": LEMMA,
    "abs_sum_le": LEMMA,
    "mul_assoc": LEMMA,
    "trace_mul_comm": LEMMA,
    "isometry_dot": "isometries keep products: the step behind the reduction to a small matrix, which is measured",
    "a_eq_zero_iff": FACE,
    "a_eq_one_iff": FACE,
    "b_eq_zero_iff": FACE,
    "b_eq_one_iff": FACE,
    "c_eq_zero_iff": FACE,
    "c_eq_one_iff": FACE,
    "d_eq_zero_iff": FACE,
    "d_eq_one_iff": FACE,
    "form_nonneg_of_no_negative_lobe": "no trained head is semidefinite; tests/forms/test_coordinates.py has one",
    "independent_uncorrelated": "the step from independence to no correlation behind the measured baseline",
    "En_two": "the mean of a product of two contents: the step behind the variance of Z, which is measured",
    "fast_steps": "a count of steps: `python -m checks bench` measures how the time grows",
}

CHOICE = "a choice with thresholds, no identity (heuristic): MATH.md says which"
AVERAGE = "a mean or a share of numbers measured above, held to its definition in tests/positional"

PATH = "one of the paths behind total_activation, which are held together above and in tests/bands/activation"
GPU = "the GPU's path: tests/bands/activation runs it in Triton's interpreter, and compiles it"

REASONS: dict[str, str] = {
    "ablate": "losses of the model itself with bands taken out: tests/bands runs the model without them",
    "attribute": "one head on one text: it refuses itself where its sums, which are measured above, do not close",
    "load_model": "opens a model, no formula: its scores are held to the model's own in tests/models",
    "forms.coordinates.head_type": CHOICE,
    "forms.coordinates.accumulating_curve": "a line to draw: where trained heads were seen to lie (heuristic)",
    "positional.denominators.exceedance": "a count on texts; what it is compared with are the bounds above",
    "positional.denominators.mean_over_rows": AVERAGE,
    "positional.denominators.shared_decay": "a least-squares fit, held to its closed form in tests/positional",
    "positional.denominators.relative_spread": AVERAGE,
    "positional.denominators.is_contextual": CHOICE,
    "positional.first_layer": "an approximation (heuristic): tv_first_layer reports its quality per head",
    "positional.groups": CHOICE,
    "positional.moments": "a share with its noise floor subtracted: tested on drawn data of known variance",
    "positional.shares": AVERAGE,
    "positional.spread.category": CHOICE,
    "positional.spread.peak_offset": AVERAGE,
    "positional.spread.distance_profile": AVERAGE,
    "positional.spread.translation_equivariance": AVERAGE,
    "positional.substitution": "put into the text itself and run: tests/positional/test_measure.py holds the two equal",
    "bands.activation.bounds": "the factor of the stated error bound, held against the paths in tests/bands/activation",
    "bands.activation.chooser": "picks a path, computes nothing: the paths are held together above",
    "bands.activation.direct": PATH,
    "bands.activation.halfplane": PATH,
    "bands.activation.levels": PATH,
    "bands.activation.loops": PATH,
    "bands.activation.reference": PATH,
    "bands.activation.staging": "layout and checks of the inputs, no formula",
    "bands.activation.tile_kernels": GPU,
    "bands.activation.tiles": GPU,
    "bands.activation.triangles": PATH,
    "bands.attribution.reference": "the slow definition that tests hold the product form to",
    "bands.entropy.quadrature": "nodes and weights: what they reach is the residual of the entries above",
    "bands.entropy.reference": "the slow definition that tests hold the sums by parts to",
    "bands.entropy.weights": "steps of the entropy shares, which are measured",
    "bands.fisher": "a sampled estimate; tests/bands/test_fisher.py has its expectation exactly",
    "bands.importance.random_importance": "random numbers",
    "bands.importance.r_squared": "a least-squares fit, held to its definition in tests/bands",
    "bands.importance.fit": "a least-squares fit, held to its definition in tests/bands",
    "bands.likelihood": "losses of the model itself, held to its own logits in tests/bands",
    "bands.ablation.select": "a choice of bands, no formula: tests/bands/test_selection.py",
    "circuits.baseline": "a seeded simulation; its mean 1/√D is tested",
    "circuits.behaviours": "entries of the attention pattern, read off",
    "circuits.chosen": "names of heads",
    "circuits.ends": "tables in blocks, no formula",
    "circuits.folded": "norms put into weights by forms of the model layer; tests/circuits runs the model itself",
    "circuits.losses": "losses of the model itself",
    "circuits.tables": "rows for the table, no formula",
    "circuits.token_pairs": "an exact search, held to brute force in tests/circuits",
    "circuits.tokens": "random tokens",
    "circuits.trigrams": "an exact search, held to brute force in tests/circuits",
}
