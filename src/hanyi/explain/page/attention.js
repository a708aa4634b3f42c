/* Attention: which map is shown, and which of its rows or columns is looked at. */

const attention = { kind: "cross", layer: -1, head: -1, side: "query", place: 0 };

/** Give the tokens of the rows and columns of a kind of map. */
function sides(data, kind) {
  if (kind === "encoder") return [data.src_tokens, data.src_tokens];
  return kind === "cross"
    ? [data.tgt_tokens, data.src_tokens]
    : [data.tgt_tokens, data.read_tokens];
}

/** Give one head's map, `[q_len][k_len]`, or the mean of all heads for head -1. */
function weightsOf(data, kind, layer, head) {
  const heads = data.attention[kind][layer];
  if (head >= 0) return heads[head];
  return heads[0].map((row, q) =>
    row.map((_, k) => heads.reduce((sum, map) => sum + map[q][k], 0) / heads.length));
}

function showAttention(data) {
  const layers = data.attention[attention.kind].length;
  const heads = data.attention[attention.kind][0].length;
  attention.layer = attention.layer < 0 ? layers - 1 : Math.min(attention.layer, layers - 1);
  attention.head = Math.min(attention.head, heads - 1);
  const change = (values) => {
    Object.assign(attention, values);
    showAttention(data);
  };
  choices(get("kinds"), ["cross", "encoder", "decoder"].map((kind) => ({ value: kind, label: say(kind) })),
    attention.kind, (kind) => change({ kind, side: "query", place: 0 }));
  choices(get("layers"), range(layers).map((layer) => ({
    value: layer, label: say("layerNumber", layer + 1),
  })), attention.layer, (layer) => change({ layer }));
  choices(get("heads"), range(heads + 1).map((number) => {
    const head = number - 1;
    const weights = weightsOf(data, attention.kind, attention.layer, head);
    return {
      value: head,
      title: head < 0 ? say("mean") : say("headNumber", head + 1),
      label: make("span", {}, head < 0 ? say("mean") : String(head + 1)),
      inside: thumbnail(weights),
    };
  }), attention.head, (head) => change({ head }));
  showTokens(data);
}

function showTokens(data) {
  const { kind, layer, head } = attention;
  const weights = weightsOf(data, kind, layer, head);
  const [queries, keys] = sides(data, kind);
  const look = (side, place) => {
    Object.assign(attention, { side, place });
    shade(weights, queries, keys);
  };
  get("queries-title").textContent = say(`queries.${kind}`);
  get("keys-title").textContent = say(`keys.${kind}`);
  chips(get("queries"), queries, "query", look);
  chips(get("keys"), keys, "key", look);
  drawMap(weights, queries, keys, look);
  shade(weights, queries, keys);
}

function chips(group, tokens, side, look) {
  const spaced = tokens.some(({ text }) => /^▁./.test(text)); // else no token begins a word
  const elements = tokens.map((token, place) => {
    const special = isSpecial(token);
    const joined = spaced && place > 0 && !special && !token.text.startsWith("▁") && !isSpecial(tokens[place - 1]);
    return make("button", {
      type: "button",
      class: `token${special ? " special" : ""}${joined ? " joined" : ""}`,
      tabindex: place === 0 ? 0 : -1,
      onpointerenter: () => look(side, place),
      onfocus: () => look(side, place),
      onclick: () => look(side, place),
    }, spelled(token), make("small", {}, fraction(token)));
  });
  group.replaceChildren(...elements);
  group.onkeydown = (event) => arrows(elements, event, (place) => {
    if (event.key === "ArrowRight") return elements[place + 1];
    if (event.key === "ArrowLeft") return elements[place - 1];
    if (event.key === "Home") return elements[0];
    return event.key === "End" ? elements.at(-1) : null;
  });
}

/** Shade the tokens by what the chosen one gave to them, or got from them. */
function shade(weights, queries, keys) {
  const { side, place } = attention;
  const isQuery = side === "query";
  const shares = isQuery ? weights[place] : weights.map((row) => row[place]);
  const [own, others] = isQuery ? ["queries", "keys"] : ["keys", "queries"];
  [...get(own).children].forEach((chip, number) => {
    chip.style.removeProperty("--share");
    chip.classList.toggle("chosen", number === place);
  });
  [...get(others).children].forEach((chip, number) => {
    chip.style.setProperty("--share", shares[number]);
    chip.classList.remove("chosen");
  });
  const told = isQuery ? keys : queries;
  const list = shares
    .map((share, number) => ({ share, number }))
    .sort((one, other) => other.share - one.share)
    .filter(({ share }) => share >= 0.01)
    .slice(0, 4)
    .map(({ share, number }) => `${spelled(told[number])} ${percent(share)}`)
    .join(" · ");
  const token = (isQuery ? queries : keys)[place];
  get("weights").textContent = say(isQuery ? "looksAt" : "isReadBy", spelled(token), list);
  for (const mark of document.querySelectorAll("#map [data-mark]")) {
    mark.classList.toggle("chosen", mark.dataset.mark === `${side}${place}`);
  }
}

const CELL = 24; // pixels
const LETTERS = 9; // of a label, at most

/** Draw a map with its tokens; a cell is as opaque as its weight. */
function drawMap(weights, queries, keys, look) {
  const label = (token) => {
    const text = spelled(token);
    return [...text].length > LETTERS ? `${[...text].slice(0, LETTERS - 1).join("")}…` : text;
  };
  const left = 92, top = 84;
  const width = left + CELL * keys.length + 44, height = top + CELL * queries.length + 4;
  const cells = weights.flatMap((row, q) => row.flatMap((weight, k) => weight < 0.004 ? [] : [draw("rect", {
    x: left + CELL * k, y: top + CELL * q, width: CELL - 1, height: CELL - 1, rx: 3,
    class: "cell", "fill-opacity": weight,
  })]));
  const rows = queries.map((token, q) => draw("text", {
    x: left - 8, y: top + CELL * (q + 0.5), class: "row", "data-mark": `query${q}`,
  }, label(token)));
  const columns = keys.map((token, k) => draw("text", {
    transform: `translate(${left + CELL * (k + 0.5)} ${top - 8}) rotate(-55)`,
    class: "column", "data-mark": `key${k}`,
  }, label(token)));
  const frame = draw("rect", {
    x: left - 2, y: top - 2, width: CELL * keys.length + 3, height: CELL * queries.length + 3, rx: 5, class: "frame",
  });
  const map = get("map");
  map.replaceChildren(frame, ...cells, ...rows, ...columns);
  fill(map, { width, height, viewBox: `0 0 ${width} ${height}` }, []);
  map.setAttribute("aria-label", say("mapAbout", say(attention.kind), queries.length, keys.length));
  map.onpointermove = map.onpointerdown = (event) => { // a finger that taps does not move
    const box = map.getBoundingClientRect();
    const q = Math.floor((event.clientY - box.top - top) / CELL);
    const k = Math.floor((event.clientX - box.left - left) / CELL);
    if (q >= 0 && q < queries.length && (k < 0 || k < keys.length)) look("query", q);
    else if (q < 0 && k >= 0 && k < keys.length) look("key", k);
  };
}

/** Draw a map as one small picture without labels; its largest weight is the darkest. */
function thumbnail(weights) {
  const canvas = make("canvas", { width: weights[0].length, height: weights.length, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  context.fillStyle = colour("--accent");
  const most = Math.max(...weights.map((row) => Math.max(...row)));
  weights.forEach((row, q) => row.forEach((weight, k) => {
    context.globalAlpha = weight / most;
    context.fillRect(k, q, 1, 1);
  }));
  return canvas;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function range(count) {
  return Array.from({ length: count }, (_, place) => place);
}
