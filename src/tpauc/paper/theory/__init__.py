"""The paper's propositions and theorems as code that can be run against them.

| module | claim |
| --- | --- |
| `selection` | Proposition 1: the hard examples as a linear programme, and as a penalty |
| `bounds` | Proposition 2: when the relaxed risk bounds the truncated one |
| `duality_checks` | Proposition 3: weighting and penalty determine each other |
| `saddle` | Theorem 1: the instance-wise saddle value is the pairwise risk |
| `inconsistency` | OPAUC and TPAUC order crossing curves differently; `roc_areas`: areas under curves |
| `bayes` | Theorems 2 and 3: `eta` is best in every region; `populations`: distributions that are known |
| `decomposition` | Lemma 1 and the decomposition behind Theorem 5, on samples |
| `excess_risk` | Theorems 4 and 5 and the corollary for convolutional nets, as a calculator |
"""
