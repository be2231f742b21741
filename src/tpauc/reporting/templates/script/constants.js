// The script of a report: move the region and the threshold, and read what follows.
//
// Areas and rates are computed from counts in the element #report-data, as src/tpauc computes them: equal input gives
// equal numbers. Nothing is loaded or sent. Without this script the page shows the report's own region and thresholds.
// The parts are put into one function in the order of reporting/rendering.py. This one has what all of them share.

const data = JSON.parse(document.getElementById("report-data").textContent);
const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const MOST_POINTS = 1200; // of a drawn curve; more cannot be told apart
const SHAPES = {
  circle: "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
  square: "M-4 -4h8v8h-8z",
  diamond: "M0 -5.5L5.5 0L0 5.5L-5.5 0z",
  triangle: "M0 -5.5L5 4H-5z",
};
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
