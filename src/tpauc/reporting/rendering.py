"""The page as HTML: templates, how numbers are written, and the content-security policy.

Everything is in the page: style, script and data. The policy lets the browser run the script with this hash and nothing
else, and load nothing. The template engine escapes all names and titles.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

import numpy as np

from tpauc._validation import FloatArray, import_extra
from tpauc.reporting.figures import score_text
from tpauc.reporting.panels import COLOURS, Area
from tpauc.reporting.wording import limits_text, promise, rate_text, share_text, signed_text, verdict

if TYPE_CHECKING:
    from jinja2 import Environment

SHAPES = {
    "circle": "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "square": "M-4 -4h8v8h-8z",
    "diamond": "M0 -5.5L5.5 0L0 5.5L-5.5 0z",
    "triangle": "M0 -5.5L5 4H-5z",
}
_SCRIPT = (  # in this order: a part uses the constants of earlier ones
    "constants", "counts", "areas", "limits", "state", "writing", "drawing", "region", "handles", "hover", "threshold",
    "handback", "wiring",
)  # fmt: skip
_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src 'unsafe-inline'; img-src data:; connect-src 'none'; "
    "base-uri 'none'; form-action 'none'"
)


def rendered(**shown: object) -> str:
    """Return the page that shows these things."""
    environment = _environment()
    script = _script(environment)
    code = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = _POLICY.format(script=f"sha256-{code}")
    return environment.get_template("report.html.jinja").render(shown, script=script, policy=policy)


def _script(environment: Environment) -> str:
    """Return the parts of the script as one function, so that they share names among them and with nobody else."""
    assert environment.loader is not None
    parts = [environment.loader.get_source(environment, f"script/{name}.js")[0] for name in _SCRIPT]
    return "\n".join(['"use strict";', "(() => {", *parts, "})();", ""])


def _environment() -> Environment:
    jinja2 = import_extra("jinja2", "report")
    environment: Environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tpauc.reporting"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"colours": COLOURS, "shapes": SHAPES}
    environment.globals |= {"limits_text": limits_text, "promise": promise, "verdict": verdict}
    environment.filters |= {
        "four": lambda value: f"{value:.4f}",
        "signed": signed_text,
        "short": lambda value: f"{value:.4g}",
        "score": score_text,
        "rate": rate_text,
        "count": lambda value: f"{value:,}" if isinstance(value, int) else f"{value:,.6g}",
        "p_value": lambda value: "< 0.001" if value < 0.001 else f"{value:.3f}",
        "percent": lambda share: f"{round(100 * share, 3):g}%",
        "share": share_text,
        "share4": lambda share: f"{100.0 * share:.4g}\N{NO-BREAK SPACE}%",
        "line_path": lambda line: _line_path(line.x, line.y),
        "area_path": _area_path,
    }
    return environment


def _line_path(x: FloatArray, y: FloatArray) -> str:
    """Return SVG path data in a square of 1000 x 1000, with heights measured from the top."""
    points = zip((1000.0 * x).round(2).tolist(), (1000.0 * (1.0 - y)).round(2).tolist(), strict=True)
    return "M" + "L".join(f"{across:g} {down:g}" for across, down in points)


def _area_path(area: Area) -> str:
    if isinstance(area.base, np.ndarray):
        back = area.x[::-1], area.base[::-1]
    else:
        back = np.array([area.x[-1], area.x[0]]), np.full(2, area.base)
    return _line_path(np.append(area.x, back[0]), np.append(area.y, back[1])) + "Z"
