/* Positional encodings and masks, as the model's own code makes them. */

function showEncodings(model) {
  const used = model.config.positions;
  const figures = Object.entries(model.positions).map(([name, rows]) => make("figure", {},
    encodingPicture(rows),
    make("figcaption", {}, say(name), ...(name === used ? [make("span", { class: "rank" }, say("used"))] : []))));
  const note = used in model.positions ? [] : [make("p", { class: "note" }, say("turns"))];
  get("encodings").replaceChildren(...figures, ...note);
}

/** Draw `[positions][d_model]` in hundredths: below zero in one colour, above in another. */
function encodingPicture(rows) {
  const [below, above] = [colour("--seal"), colour("--accent")];
  const canvas = make("canvas", { width: rows[0].length, height: rows.length, class: "encoding", role: "img", "aria-label": say("encodings") });
  const context = canvas.getContext("2d");
  rows.forEach((row, position) => row.forEach((value, dimension) => {
    context.fillStyle = value < 0 ? below : above;
    context.globalAlpha = Math.abs(value) / 100;
    context.fillRect(dimension, position, 1, 1);
  }));
  canvas.onpointermove = canvas.onpointerdown = (event) => { // a finger that taps does not move
    const box = canvas.getBoundingClientRect();
    const position = Math.min(rows.length - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * rows.length)));
    const dimension = Math.min(rows[0].length - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * rows[0].length)));
    get("encoding").textContent = say("encodingAt", position, dimension, (rows[position][dimension] / 100).toFixed(2));
  };
  return canvas;
}

function showMasks(masks) {
  get("masks-section").hidden = false;
  const names = masks.tokens.map(spelled);
  get("masks").replaceChildren(...["padding", "causal", "both"].map((name) => make("figure", {},
    maskPicture(masks[name], names, say(name)), make("figcaption", {}, say(name)))));
}

function maskPicture(rows, names, label) {
  const cell = 14, left = 62, size = left + cell * names.length + 4;
  const short = (text) => ([...text].length > 7 ? `${[...text].slice(0, 6).join("")}…` : text);
  const cells = rows.flatMap((row, q) => row.map((open, k) => draw("rect", {
    x: left + cell * k, y: cell * q, width: cell - 1, height: cell - 1, rx: 2, class: open ? "open" : "shut",
  })));
  const labels = names.map((name, q) => draw("text", { x: left - 6, y: cell * (q + 0.5), class: "row" }, short(name)));
  const height = cell * names.length;
  return draw("svg", { class: "mask", width: size, height, viewBox: `0 0 ${size} ${height}`, role: "img", "aria-label": label }, ...cells, ...labels);
}
