"""`ROCRegionDisplay`: ROC curves with their region on one matplotlib axes, in scikit-learn's conventions.

A display keeps what it draws, and `plot` draws it. The corner ``TPR >= 1 - alpha, FPR <= beta`` has a border, and only
the area under the curve inside it is tinted: that area, as a share of the corner, is TPAUC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tpauc._validation import (
    BoolArray,
    FloatArray,
    check_choice,
    check_labels,
    check_labels_and_scores,
    check_open_share,
    import_extra,
)
from tpauc.metrics.area import area_in_region
from tpauc.metrics.bands import KINDS, ROCBand, roc_band
from tpauc.region import Region
from tpauc.reporting.curves import roc_vertices, spread_ties
from tpauc.reporting.fitted_scores import check_cv_results, positive_label, row_count, rows_of, scores_of
from tpauc.reporting.panels import COLOURS
from tpauc.reporting.region_artists import banded, check_plot, plotted, shown_curve, tinted

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GRID_STEPS = 100  # of a band, inside the region and beyond it


class ROCRegionDisplay:
    """ROC curves with the area inside the region tinted.

    Make one with :meth:`from_predictions`, :meth:`from_estimator` or :meth:`from_cv_results`. All parameters are kept
    as attributes.

    Parameters
    ----------
    fpr, tpr : array of shape (m,), or list of such arrays
        The vertices of each curve.
    tpauc : float or list of floats
        TPAUC of each curve.
    alpha, beta : float
        The region.
    name : str, optional
        What the legend calls the curves.
    band : ROCBand, optional
        The confidence band of a single curve.
    pos_label : label, optional
        The positive class, to be named at the axes.

    Attributes
    ----------
    line_ : matplotlib Line2D, or list of them
        The curves.
    area_ : matplotlib artist, or list of them
        The tinted areas.
    region_ : matplotlib Rectangle
        The border of the region.
    band_ : matplotlib artist or None
        The confidence band.
    chance_level_ : matplotlib Line2D or None
        The diagonal.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> y, score = [1, 1, 0, 0], [0.9, 0.4, 0.5, 0.1]
    >>> figure, ax = plt.subplots()
    >>> display = ROCRegionDisplay.from_predictions(y, score, alpha=0.5, beta=0.5, ax=ax, name="model")
    >>> display.line_.get_label()
    'model (TPAUC = 0.000)'
    >>> plt.close(figure)
    """

    line_: Artist | list[Artist]
    area_: Artist | list[Artist]
    region_: Artist
    band_: Artist | None
    chance_level_: Artist | None
    ax_: Axes
    figure_: Figure

    def __init__(
        self,
        *,
        fpr: FloatArray | Sequence[FloatArray],
        tpr: FloatArray | Sequence[FloatArray],
        tpauc: float | Sequence[float],
        alpha: float,
        beta: float,
        name: str | None = None,
        band: ROCBand | None = None,
        pos_label: Any = None,
    ) -> None:
        self.fpr, self.tpr, self.tpauc = fpr, tpr, tpauc
        self.alpha, self.beta = alpha, beta
        self.name, self.band, self.pos_label = name, band, pos_label

    # ------------------------------------------------------------------------------------------------ three ways to it

    @classmethod
    def from_predictions(
        cls,
        y_true: npt.ArrayLike,
        y_score: npt.ArrayLike,
        *,
        alpha: float,
        beta: float,
        ax: Axes | None = None,
        name: str | None = None,
        band: str | None = None,
        confidence: float = 0.95,
        pos_label: Any = None,
        zoom: bool = False,
        curve_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = False,
    ) -> ROCRegionDisplay:
        """Draw the ROC curve of scores.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels, 0/1 or -1/1; any two with ``pos_label``.
        y_score : array-like of shape (n,)
            Scores, higher for the positive class.
        alpha, beta : float
            The region, as in :func:`tpauc.tpauc_score`.
        ax : matplotlib Axes, optional
            Where to draw; by default on a new figure of pyplot.
        name : str, optional
            What the legend calls the curve.
        band : {"pointwise", "simultaneous"}, optional
            The confidence band to draw, a ``kind`` of :func:`tpauc.roc_band`; none by default. Where both classes share
            a score it is the band of the straight line that is drawn there.
        confidence : float, default=0.95
            Of the band.
        pos_label : label, optional
            The positive class.
        zoom : bool, default=False
            Whether the axes end at the region instead of showing the whole curve.
        curve_kwargs : mapping, optional
            Options of matplotlib's ``plot`` for the curve, such as ``{"color": "black"}``.
        plot_chance_level : bool, default=False
            Whether to draw the diagonal.

        Returns
        -------
        ROCRegionDisplay

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> rng = np.random.default_rng(0)
        >>> y = np.arange(500) < 100
        >>> figure, ax = plt.subplots()
        >>> display = ROCRegionDisplay.from_predictions(
        ...     y, rng.normal(size=500) + 2 * y, alpha=0.3, beta=0.2, band="pointwise", ax=ax
        ... )
        >>> display.band
        <ROC curve with a pointwise 95 % band at 201 false positive rates: TPR 0.84 (0.698 to 0.899) at FPR 0.1>
        >>> plt.close(figure)
        """
        region = Region(alpha, beta)
        positive, scores = check_labels_and_scores(y_true, y_score, pos_label=pos_label)
        return cls._drawn(
            [(positive, scores)],
            region,
            name=name,
            band=_check_band(band),
            confidence=check_open_share(confidence, "confidence"),
            pos_label=pos_label,
            plot={"ax": ax, "zoom": zoom, "curve_kwargs": curve_kwargs, "plot_chance_level": plot_chance_level},
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: npt.ArrayLike,
        *,
        alpha: float,
        beta: float,
        ax: Axes | None = None,
        name: str | None = None,
        band: str | None = None,
        confidence: float = 0.95,
        pos_label: Any = None,
        zoom: bool = False,
        curve_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = False,
    ) -> ROCRegionDisplay:
        """Draw the ROC curve of a fitted classifier.

        Parameters
        ----------
        estimator : fitted binary classifier
            With ``decision_function``, which is preferred, or ``predict_proba``.
        X : array-like of shape (n, d)
            Rows that the classifier was not trained on.
        y : array-like of shape (n,)
            Their labels.
        name : str, optional
            What the legend calls the curve; by default the name of the estimator's class.
        pos_label : label, optional
            The positive class; by default the one of the estimator (``pos_label_``), else 1 or True.
        alpha, beta, ax, band, confidence, zoom, curve_kwargs, plot_chance_level
            As in :meth:`from_predictions`.

        Returns
        -------
        ROCRegionDisplay

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> X, y = make_classification(400, weights=[0.8], random_state=0)
        >>> model = LogisticRegression().fit(X[:200], y[:200])
        >>> figure, ax = plt.subplots()
        >>> display = ROCRegionDisplay.from_estimator(model, X[200:], y[200:], alpha=0.3, beta=0.3, ax=ax)
        >>> display.name
        'LogisticRegression'
        >>> plt.close(figure)
        """
        region = Region(alpha, beta)
        label = positive_label(estimator, "estimator", pos_label)
        positive = check_labels(y, "y", label)
        return cls._drawn(
            [(positive, scores_of(estimator, "estimator", X, positive, label))],
            region,
            name=type(estimator).__name__ if name is None else name,
            band=_check_band(band),
            confidence=check_open_share(confidence, "confidence"),
            pos_label=label,
            plot={"ax": ax, "zoom": zoom, "curve_kwargs": curve_kwargs, "plot_chance_level": plot_chance_level},
        )

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Any,
        y: npt.ArrayLike,
        *,
        alpha: float,
        beta: float,
        ax: Axes | None = None,
        name: str | None = None,
        pos_label: Any = None,
        zoom: bool = False,
        curve_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = False,
    ) -> ROCRegionDisplay:
        """Draw one ROC curve per fold of a cross-validation.

        There is no band: the folds share training rows, and each has a model of its own.

        Parameters
        ----------
        cv_results : mapping
            What scikit-learn's ``cross_validate`` returns with ``return_estimator=True, return_indices=True``.
        X : array-like of shape (n, d)
            The rows that were cross-validated.
        y : array-like of shape (n,)
            Their labels.
        name : str, optional
            What the legend calls the curves, beside the mean of TPAUC over the folds and its standard deviation.
        pos_label : label, optional
            As in :meth:`from_estimator`.
        alpha, beta, ax, zoom, curve_kwargs, plot_chance_level
            As in :meth:`from_predictions`.

        Returns
        -------
        ROCRegionDisplay

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.model_selection import cross_validate
        >>> X, y = make_classification(400, weights=[0.8], random_state=0)
        >>> folds = cross_validate(LogisticRegression(), X, y, return_estimator=True, return_indices=True)
        >>> figure, ax = plt.subplots()
        >>> display = ROCRegionDisplay.from_cv_results(folds, X, y, alpha=0.3, beta=0.3, ax=ax)
        >>> len(display.line_)
        5
        >>> plt.close(figure)
        """
        region = Region(alpha, beta)
        estimators, tests = check_cv_results(cv_results)
        label = positive_label(estimators[0], "cv_results['estimator'][0]", pos_label)
        positive = check_labels(y, "y", label)
        n_rows = row_count(X)
        if n_rows != positive.size:
            raise ValueError(f"X and y must have as many rows, got {n_rows} and {positive.size}")
        if any(test.min() < 0 or test.max() >= n_rows for test in tests):
            raise ValueError(f"X must hold the rows that were cross-validated; cv_results has others than its {n_rows}")
        folds = []
        for number, (estimator, test) in enumerate(zip(estimators, tests, strict=True)):
            where = f"cv_results['estimator'][{number}]"
            folds.append((positive[test], scores_of(estimator, where, rows_of(X, test), positive[test], label)))
        return cls._drawn(
            folds,
            region,
            name=name,
            pos_label=label,
            plot={"ax": ax, "zoom": zoom, "curve_kwargs": curve_kwargs, "plot_chance_level": plot_chance_level},
        )

    @classmethod
    def _drawn(
        cls,
        samples: Sequence[tuple[BoolArray, FloatArray]],
        region: Region,
        *,
        name: str | None,
        pos_label: Any,
        plot: Mapping[str, Any],
        band: str | None = None,
        confidence: float = 0.95,
    ) -> ROCRegionDisplay:
        """Return a display of checked labels and scores that is drawn already."""
        check_plot(name=name, **plot)
        areas = [area_in_region(positive, scores, region) for positive, scores in samples]
        curves = [roc_vertices(positive, scores) for positive, scores in samples]
        found = None
        if band is not None:
            inside = np.linspace(0.0, region.beta, _GRID_STEPS + 1)
            grid = np.unique(np.append(inside, np.linspace(region.beta, 1.0, _GRID_STEPS + 1)))
            positive, scores = samples[0]
            found = roc_band(positive, spread_ties(positive, scores), kind=band, confidence=confidence, fpr=grid)
        several = len(samples) > 1
        display = cls(
            fpr=[fpr for fpr, _ in curves] if several else curves[0][0],
            tpr=[tpr for _, tpr in curves] if several else curves[0][1],
            tpauc=areas if several else areas[0],
            alpha=region.alpha,
            beta=region.beta,
            name=name,
            band=found,
            pos_label=pos_label,
        )
        return display.plot(**plot)

    # --------------------------------------------------------------------------------------------------------- drawing

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        zoom: bool = False,
        curve_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = False,
    ) -> ROCRegionDisplay:
        """Draw the display, on new axes or on given ones.

        Parameters
        ----------
        ax, name, zoom, curve_kwargs, plot_chance_level
            As in :meth:`from_predictions`.

        Returns
        -------
        ROCRegionDisplay
            The display itself, with the attributes ``figure_``, ``ax_``, ``line_`` and the others set.
        """
        check_plot(ax, name=name, zoom=zoom, curve_kwargs=curve_kwargs, plot_chance_level=plot_chance_level)
        from matplotlib.patches import Rectangle

        region = Region(self.alpha, self.beta)
        single = isinstance(self.fpr, np.ndarray)
        curves: Any = [(self.fpr, self.tpr)] if single else list(zip(self.fpr, self.tpr, strict=True))
        if ax is None:
            _, ax = import_extra("matplotlib.pyplot", "report").subplots()
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]  # a subfigure will do
        colour = COLOURS["region-line"][0]
        corner = (0.0, 1.0 - region.alpha), region.beta, region.alpha
        self.region_ = ax.add_patch(Rectangle(*corner, fill=False, edgecolor=colour, lw=1.2, zorder=1))
        style = {"lw": 1.0, "alpha": 0.7} if len(curves) > 1 else {}
        lines: list[Any] = []
        areas: list[Any] = []
        for fpr, tpr in curves:
            options = {**style, **(curve_kwargs or {})}
            if lines:  # one look and one line in the legend for all folds
                options = {"color": lines[0].get_color(), **options}
            lines.append(plotted(ax, *shown_curve(fpr, tpr, region), options))
            areas.append(tinted(ax, fpr, tpr, region, lines[0].get_color(), n_curves=len(curves)))
        missed = zoom and all(area is None for area in areas)
        lines[0].set_label(self._label(self.name if name is None else name, missed=missed))
        self.line_, self.area_ = (lines[0], areas[0]) if single else (lines, areas)
        self.band_ = None if self.band is None else banded(ax, self.band, lines[0].get_color())
        self.chance_level_ = None
        if plot_chance_level:
            self.chance_level_ = ax.plot([0, 1], [0, 1], color=COLOURS["faint"][0], ls="--", lw=1, label="Chance")[0]
        self._set_axes(ax, region, zoom=zoom)
        return self

    def _label(self, name: str | None, *, missed: bool) -> str:
        values = np.atleast_1d(self.tpauc)
        spread = f" \N{PLUS-MINUS SIGN} {values.std():.3f}" if values.size > 1 else ""
        text = f"TPAUC = {values.mean():.3f}{spread}{', not in the region' if missed else ''}"
        if not name:
            return text
        # matplotlib reads dollar signs as formulas, and hides what begins with an underscore.
        shown = name.replace("$", r"\$")
        return f"{' ' if name.startswith('_') else ''}{shown} ({text})"

    def _set_axes(self, ax: Axes, region: Region, *, zoom: bool) -> None:
        of_class = "" if self.pos_label is None else f" (positive label: {self.pos_label})".replace("$", r"\$")
        ax.set(xlabel=f"False positive rate{of_class}", ylabel=f"True positive rate{of_class}")
        if zoom:
            ax.set(xlim=(0.0, region.beta), ylim=(1.0 - region.alpha, 1.0))
        else:
            ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        ax.legend(loc="lower right")


def _check_band(band: str | None) -> str | None:
    return None if band is None else check_choice(band, "band", KINDS)
