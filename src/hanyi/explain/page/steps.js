/* Token by token: probabilities, alternatives, and the hypotheses of the beam. */

function showSteps(data) {
  get("steps").replaceChildren(...data.tgt_tokens.map((token, place) => {
    const step = data.steps[place];
    const probability = Math.exp(step.log_prob);
    const others = step.alternatives.filter(({ id }) => id !== token.id);
    return make("tr", {},
      make("th", { scope: "row", class: isSpecial(token) ? "special" : null },
        spelled(token), make("small", {}, fraction(token))),
      make("td", { class: "chance" },
        make("span", { class: "track" }, make("span", { class: "bar-fill", "--share": probability })),
        make("span", { class: "figure" }, percent(probability)),
        ...(step.rank > 1 ? [make("span", { class: "rank" }, say("rank", step.rank))] : [])),
      make("td", { class: "others" }, ...others.map((other) => make("span", {
        class: "other", "--share": Math.sqrt(other.probability), title: percent(other.probability),
      }, make("span", { class: isSpecial(other) ? "special" : null }, spelled(other)),
      " ", make("small", {}, percent(other.probability))))));
  }));
}

function showBest(data, choose) {
  const best = data.n_best[0].score;
  get("best").replaceChildren(...data.n_best.map((one, place) => {
    const text = one.text || "∅";
    const shown = data.tree && one.leaf !== null
      ? make("button", { type: "button", class: "plain", onclick: () => choose(one.leaf), "aria-label": say("showInTree", text) }, text)
      : make("span", {}, text);
    return make("tr", { class: place === 0 ? "first" : null },
      make("td", { class: "hypothesis" }, make("span", { class: "place" }, String(place + 1)), shown,
        ...(one.finished ? [] : [make("span", { class: "rank" }, say("unfinished"))])),
      make("td", { class: "number", "data-name": say("score") },
        make("span", { class: "track small" }, make("span", { class: "bar-fill", "--share": Math.exp(one.score - best) })),
        one.score.toFixed(2)),
      make("td", { class: "number", "data-name": say("logProb") }, one.log_prob.toFixed(2)));
  }));
}
