"""The paper's propositions and theorems as code with which they can be checked.

| module | claim |
| --- | --- |
| `selection` | Propositions 1 and 3: hard examples by a linear programme or a penalty, and by a smooth penalty |
| `bounds` | Proposition 2: when the relaxed risk bounds the truncated one |
| `normalised` | not in the paper: what the risk bounds once it is divided by the mean weights, and its minimisers |
| `saddle` | Theorem 1: the instance-wise saddle value is the pairwise risk |
| `inconsistency` | OPAUC and TPAUC order crossing curves differently; areas under curves |
| `bayes` | Theorems 2 and 3: `eta` is best in every region; `populations`: known distributions |
| `decomposition` | Lemma 1 and the decomposition behind Theorem 5, on samples |
| `excess_risk` | Theorems 4 and 5 and the corollary for convolutional nets, as a calculator |
"""
