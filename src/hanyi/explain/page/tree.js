/* The tree of the beam search: columns are steps, the likeliest hypothesis of a step is on top. */

const COLUMN = 150, ROW = 30, NODE = 122, HEIGHT = 22, MARGIN = 12; // pixels
const search = { leaf: null, dropped: true };
const ORDER = { kept: 0, finished: 0, cut: 0, dropped: 1 };

/** Give the nodes that are shown, each with its place in the drawing. */
function layout(tree) {
  const shown = tree.nodes
    .map((node, number) => ({ ...node, number }))
    .filter((node) => search.dropped || node.fate !== "dropped");
  const columns = range(tree.steps + 1).map((step) => shown
    .filter((node) => node.step === step)
    .sort((one, other) => ORDER[one.fate] - ORDER[other.fate] || other.log_prob - one.log_prob));
  columns.forEach((column, step) => column.forEach((node, place) => {
    node.x = MARGIN + COLUMN * step;
    node.y = MARGIN + ROW * place;
    node.place = place;
  }));
  return columns.filter((column) => column.length);
}

/** Give the numbers of a node and all above it. */
function ancestors(tree, number) {
  const path = new Set();
  for (let one = number; one !== null && one !== undefined; one = tree.nodes[one].parent) path.add(one);
  return path;
}

function showTree(data) {
  get("tree-section").hidden = !data.tree;
  if (!data.tree) return;
  if (search.leaf === null) search.leaf = data.n_best[0].leaf;
  const columns = layout(data.tree);
  const byNumber = new Map(columns.flat().map((node) => [node.number, node]));
  const groups = new Map();
  const elements = columns.flat().map((node) => {
    const group = drawNode(node, () => lookAt(data.tree, node));
    groups.set(node.number, group);
    return group;
  });
  const edges = columns.flat().filter((node) => node.parent !== null).map((node) => drawEdge(byNumber.get(node.parent), node));
  const svg = get("tree");
  svg.replaceChildren(...edges, ...elements);
  const width = Math.max(...columns.flat().map((node) => node.x)) + NODE + MARGIN;
  const height = ROW * Math.max(...columns.map((column) => column.length)) + MARGIN;
  fill(svg, { width, height, viewBox: `0 0 ${width} ${height}` }, []);
  elements[0].setAttribute("tabindex", 0);
  svg.onkeydown = (event) => arrows(elements, event, (place) => groups.get(neighbour(columns, place, event.key)));
  showLegend();
  mark(data.tree, search.leaf);
  tellNode(data.tree.nodes[search.leaf ?? 0]);
}

/** Give the number of the node that an arrow key leads to. */
function neighbour(columns, place, key) {
  const nodes = columns.flat();
  const node = nodes[place];
  if (key === "ArrowLeft") return node.parent;
  if (key === "ArrowRight") {
    return nodes.filter((one) => one.parent === node.number).sort((one, other) => one.place - other.place)[0]?.number;
  }
  const step = { ArrowUp: -1, ArrowDown: 1 }[key];
  return step && columns.find((column) => column.includes(node))[node.place + step]?.number;
}

function drawNode(node, look) {
  const text = node.parent === null ? "‹s›" : node.token.id === 3 ? "‹/s›" : spelled(node.token);
  const letters = [...text];
  const label = letters.length > 9 ? `${letters.slice(0, 8).join("")}…` : text;
  return draw("g", {
    class: `node ${node.fate}`, role: "treeitem", tabindex: -1, "data-number": node.number,
    transform: `translate(${node.x} ${node.y})`, "aria-label": nodeText(node),
    onfocus: look, onpointerenter: look, onclick: look,
  },
  draw("rect", { width: NODE, height: HEIGHT, rx: 11 }),
  draw("text", { x: 10, y: HEIGHT / 2, class: "label" }, label),
  draw("text", { x: NODE - 9, y: HEIGHT / 2, class: "total" }, node.log_prob.toFixed(2)));
}

function drawEdge(from, to) {
  const x = from.x + NODE, middle = HEIGHT / 2, half = (COLUMN - NODE) / 2;
  return draw("path", {
    class: `edge ${to.fate}`, "data-number": to.number,
    d: `M${x} ${from.y + middle}C${x + half} ${from.y + middle} ${to.x - half} ${to.y + middle} ${to.x} ${to.y + middle}`,
  });
}

function lookAt(tree, node) {
  mark(tree, node.number);
  tellNode(node);
}

/** Light up the path to a node. */
function mark(tree, number) {
  const path = ancestors(tree, number);
  for (const element of document.querySelectorAll("#tree [data-number]")) {
    element.classList.toggle("path", path.has(Number(element.dataset.number)));
  }
}

function nodeText(node) {
  if (node.parent === null) return say("root");
  const token = node.token.id === 3 ? "</s>" : spelled(node.token);
  return say("nodeAbout", node.step, node.text, token, node.log_prob.toFixed(2), say(`fates.${node.fate}`));
}

function tellNode(node) {
  get("node").textContent = nodeText(node);
}

function showLegend() {
  get("legend").replaceChildren(...["path", "kept", "finished", "cut", "dropped"].map((fate) =>
    make("li", { class: fate }, say(`fates.${fate}`))));
}

/** Show where a translation of the list ended, and bring it into view. */
function findLeaf(data, leaf) {
  search.leaf = leaf;
  showTree(data);
  const scroll = get("tree-scroll");
  const column = data.tree.nodes[leaf].step;
  scroll.scrollIntoView({ block: "nearest" });
  scroll.scrollLeft = COLUMN * (column + 1) - scroll.clientWidth + MARGIN;
}
