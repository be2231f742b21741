// The edges of the region, to be dragged with the mouse, a finger or the keyboard.

// A line that can be dragged, in any panel: a slider for keyboards and screen readers, with a wide invisible grip.
function makeHandle(panel, label, orientation, keys) {
  const handle = make("g", { class: `handle ${orientation}`, role: "slider", tabindex: 0, "aria-label": label });
  handle.setAttribute("aria-orientation", orientation);
  handle.append(make("line", { class: "grip" }), make("line", { class: "edge" }), make("circle", { class: "knob", r: 7 }));
  handle.addEventListener("keydown", (event) => {
    if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key](event.shiftKey);
  });
  handlesOf(panel).append(handle);
  return handle;
}

// Handles are kept apart from the drawing, which is replaced while one of them is being dragged.
function handlesOf(panel) {
  const plot = panel.querySelector(".plot > svg");
  // An image hides its parts from screen readers, and handles must be found.
  plot.setAttribute("role", "group");
  return plot.querySelector(".handles") ?? plot.appendChild(make("g", { class: "handles" }));
}

// Call `move(x, y)`, shares of the panel, while the pointer is down.
function onDrag(node, panel, move) {
  const plot = panel.querySelector(".plot > svg");
  const follow = (event) => {
    const box = plot.getBoundingClientRect();
    move(
      clamp((event.clientX - box.left) / box.width, 0, 1),
      clamp((event.clientY - box.top) / box.height, 0, 1),
    );
  };
  node.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    node.setPointerCapture(event.pointerId);
    node.focus();
    hideTip();
  });
  node.addEventListener("pointermove", (event) => {
    if (node.hasPointerCapture(event.pointerId)) follow(event);
  });
  // Browsers ignore `touch-action` on parts of an SVG image, and would scroll the page instead.
  node.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
}

// Small shares need small steps: below 2 % a tenth of a percent, else a percent.
function stepped(share, up, far) {
  const step = far ? 0.1 : share < 0.02 - 1e-9 || (!up && share < 0.02 + 1e-9) ? 0.001 : 0.01;
  return clamp(Number((share + (up ? step : -step)).toFixed(6)), 0.001, 1);
}

// A dragged share, rounded to what a hand can aim at.
const aimed = (share) => clamp(Number(share.toFixed(3)), 0.001, 1);

const handles = {};
function makeRegionHandles() {
  const alpha = (up, far) => setRegion(stepped(state.alpha, up, far), state.beta);
  const beta = (up, far) => setRegion(state.alpha, stepped(state.beta, up, far));
  // The lower edge is at TPR = 1 - alpha: down makes alpha larger.
  handles.alpha = makeHandle(wholePanel, "alpha, the share of positives that may be missed", "vertical", {
    ArrowDown: (far) => alpha(true, far),
    ArrowUp: (far) => alpha(false, far),
    ArrowRight: (far) => alpha(true, far),
    ArrowLeft: (far) => alpha(false, far),
    PageDown: () => alpha(true, true),
    PageUp: () => alpha(false, true),
    Home: () => setRegion(0.001, state.beta),
    End: () => setRegion(1, state.beta),
  });
  handles.beta = makeHandle(wholePanel, "beta, the share of negatives that may be false alarms", "horizontal", {
    ArrowRight: (far) => beta(true, far),
    ArrowUp: (far) => beta(true, far),
    ArrowLeft: (far) => beta(false, far),
    ArrowDown: (far) => beta(false, far),
    PageUp: () => beta(true, true),
    PageDown: () => beta(false, true),
    Home: () => setRegion(state.alpha, 0.001),
    End: () => setRegion(state.alpha, 1),
  });
  onDrag(handles.alpha, wholePanel, (_, y) => setRegion(aimed(y), state.beta));
  onDrag(handles.beta, wholePanel, (x) => setRegion(state.alpha, aimed(x)));
  handles.corner = make("circle", { class: "corner", r: 10, "aria-hidden": "true" });
  handlesOf(wholePanel).append(handles.corner);
  onDrag(handles.corner, wholePanel, (x, y) => setRegion(aimed(y), aimed(x)));
}

function placeLine(handle, x1, y1, x2, y2, value, text) {
  for (const line of handle.querySelectorAll("line")) {
    for (const [key, share] of Object.entries({ x1, y1, x2, y2 })) line.setAttribute(key, `${100 * share}%`);
  }
  // Knobs sit where the edges of the region leave the axes: there they keep apart even if the region is small.
  const knob = handle.querySelector(".knob");
  knob.setAttribute("cx", `${100 * x1}%`);
  knob.setAttribute("cy", `${100 * y1}%`);
  handle.setAttribute("aria-valuenow", value);
  handle.setAttribute("aria-valuetext", text);
}

function placeHandles() {
  const { alpha, beta } = state;
  placeLine(handles.alpha, 0, alpha, beta, alpha, plain(alpha), `${plain(alpha)}: ${byId("alpha-means").textContent}`);
  placeLine(handles.beta, beta, 0, beta, alpha, plain(beta), `${plain(beta)}: ${byId("beta-means").textContent}`);
  for (const name of ["alpha", "beta"]) {
    handles[name].setAttribute("aria-valuemin", 0);
    handles[name].setAttribute("aria-valuemax", 1);
    const field = byId(name);
    // A field that is being typed in is left alone.
    if (document.activeElement !== field) field.value = plain(state[name]);
  }
  handles.corner.setAttribute("cx", `${100 * beta}%`);
  handles.corner.setAttribute("cy", `${100 * alpha}%`);
}
