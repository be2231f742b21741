"""scikit-learn's own checks of the stack."""

import pytest
from sklearn.utils.estimator_checks import check_classifiers_train, parametrize_with_checks

from tpauc.classifiers.tpauc_classifier import TPAUCClassifier

NOT_AT_ONE_HALF = "predict follows the threshold of the region, and probabilities are calibrated"


# The checks fit on labels of any kind.
@pytest.mark.filterwarnings("ignore:y holds .* and pos_label is not given")
@parametrize_with_checks(
    [TPAUCClassifier("auto-fast", random_state=0)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "trees count rows in leaves, and folds change",
        "check_classifiers_train": NOT_AT_ONE_HALF,
    },
)
def test_scikit_learns_own_checks(estimator, check, few_trees):
    check(estimator)


class Uncalibrated(TPAUCClassifier):
    """The same stack, with probabilities that are one half at the threshold."""

    def _calibrates(self):
        return False


def test_but_for_calibrated_probabilities_it_trains_as_scikit_learn_asks(few_trees):
    check_classifiers_train("Uncalibrated", Uncalibrated("auto-fast", random_state=0))
