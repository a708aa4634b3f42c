/* The page as a whole: what is shown, and what happens when something is typed or chosen. */

const { model, sentence } = JSON.parse(get("data").textContent);
const EXAMPLES = ["我爱 00700", "他在北京工作。", "药店在美术馆和火车站中间。"];
const BEAMS = [1, 2, 3, 4, 5, 6, 8];
const state = { data: sentence, greedy: null, running: null };

function showAll() {
  showTexts();
  showFacts();
  showEncodings(model);
  if (state.data) showSentence(state.data);
}

function showSentence(data) {
  get("result").hidden = get("inside").hidden = false;
  showText("read", data.source, model.languages?.src);
  showText("written", data.translation, model.languages?.tgt);
  const differs = state.greedy !== null && state.greedy !== data.translation;
  get("greedy").hidden = !differs;
  get("greedy").textContent = differs ? say("greedyHad", state.greedy) : "";
  get("status").textContent = [
    ...(data.unmet.length ? [say("unmet", data.unmet.join(", "))] : []),
    ...(data.finished ? [] : [say("cut")]),
  ].join(" ");
  showAttention(data);
  showSteps(data);
  showBest(data, (leaf) => findLeaf(data, leaf));
  showTree(data);
  showMasks(data.masks);
  get("left-out").replaceChildren(...Object.keys(data.left_out).map((name) => make("li", {}, say(`leftOut.${name}`))));
}

function showText(id, text, lang) {
  const element = get(id);
  element.textContent = text;
  if (lang) element.lang = lang;
}

function showFacts() {
  const { config } = model;
  get("facts").textContent = say("facts", {
    parameters: model.parameters,
    layers: config.layers,
    decoder: config.decoder_layers ?? config.layers,
    heads: config.heads,
    width: config.d_model,
    src: model.src_vocab,
    tgt: model.tgt_vocab,
    positions: config.positions,
    norm: config.norm,
  });
}

function showFault(text) {
  get("fault").hidden = !text;
  get("fault").textContent = text;
}

/** Translate what was typed: first as a stream, then with all that the model did. */
async function translate() {
  const text = get("text").value.trim();
  if (!text) return; // what is being translated goes on
  state.running?.abort();
  const running = new AbortController();
  Object.assign(state, { running, data: null, greedy: null });
  get("inside").hidden = get("masks-section").hidden = get("greedy").hidden = true;
  get("result").hidden = false;
  showFault("");
  showText("read", text, model.languages?.src);
  showText("written", "", model.languages?.tgt);
  get("status").textContent = say("working");
  get("written").classList.add("streaming");
  try {
    const greedy = await stream(text, (whole) => { get("written").textContent = whole; }, running.signal);
    get("written").textContent = greedy;
    get("status").textContent = say("looking");
    const data = await explained(text, Number(get("beams").value), running.signal);
    Object.assign(state, { data, greedy });
    Object.assign(search, { leaf: null });
    Object.assign(attention, { side: "query", place: 0 });
    showSentence(data);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Fault)) throw error;
    get("status").textContent = "";
    showFault(error.message);
  } finally {
    if (state.running === running) get("written").classList.remove("streaming");
  }
}

function begin() {
  get("ask").hidden = Boolean(sentence);
  const possible = BEAMS.filter((count) => count % model.beam_groups === 0 && count <= (model.most_beams ?? count));
  get("beams").replaceChildren(...[...new Set([...possible, model.beam_size])].sort((one, other) => one - other).map((count) =>
    make("option", { value: count, selected: count === model.beam_size }, String(count))));
  if (/^zh\b/.test(model.languages?.src ?? "")) {
    get("examples").hidden = false;
    get("examples").append(...EXAMPLES.map((text) => make("button", {
      type: "button", class: "example", lang: "zh", onclick: () => { get("text").value = text; translate(); },
    }, text)));
  }
  get("form").addEventListener("submit", (event) => { event.preventDefault(); translate(); });
  get("text").addEventListener("keydown", (event) => {
    // Enter also ends what an input method composes.
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); translate(); }
  });
  get("beams").addEventListener("change", () => { if (state.data) translate(); });
  get("dropped").addEventListener("change", (event) => { search.dropped = event.target.checked; showTree(state.data); });
  get("languages").addEventListener("click", (event) => {
    const chosen = event.target.dataset.language;
    if (chosen) { speak(chosen); showAll(); }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showAll);
  showAll();
}

begin();
