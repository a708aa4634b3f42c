/** Make an element: `make("p", {class: "note", onclick: f}, "text", child)`. */
function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** Make an element of a drawing. */
function draw(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children);
  return element;
}

function get(id) {
  return document.getElementById(id);
}

/** Show some buttons of which one is pressed, as a group of radio buttons; arrows move between. */
function choices(group, options, chosen, choose) {
  const had = group.contains(document.activeElement);
  const buttons = options.map(({ value, label, inside, title }) =>
    make("button", {
      type: "button",
      role: "radio",
      "aria-checked": value === chosen ? "true" : "false",
      "aria-label": title,
      tabindex: value === chosen ? 0 : -1,
      onclick: () => choose(value),
    }, ...(inside ? [inside] : []), label));
  group.replaceChildren(...buttons);
  group.onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const place = options.findIndex(({ value }) => value === chosen);
    choose(options[(place + step + options.length) % options.length].value);
  };
  if (had) group.querySelector("[aria-checked=true]")?.focus();
}

/** Move the focus among elements that are one stop of the tab key. */
function arrows(elements, event, next) {
  const place = elements.indexOf(document.activeElement);
  const target = place < 0 ? null : next(place);
  if (!target) return;
  event.preventDefault();
  elements[place].setAttribute("tabindex", -1);
  target.setAttribute("tabindex", 0);
  target.focus();
}

function percent(share) {
  if (share > 0 && share < 0.001) return "<0.1%";
  return `${(100 * share).toFixed(share < 0.0995 || share > 0.995 && share < 0.9995 ? 1 : 0)}%`;
}

/** Show what a token spells; a space before a word is told by the room before it. */
function spelled(token) {
  const text = token.text.replace(/▁/g, " ");
  return text.trim() || (text ? "␣" : "");
}

/** Say which of the pieces of a character a token is, such as ¹⁄₃. */
function fraction(token) {
  if (!token.part) return "";
  const [place, count] = token.part;
  return `${[..."⁰¹²³⁴⁵⁶⁷⁸"][place]}⁄${[..."₀₁₂₃₄₅₆₇₈"][count]}`;
}

function isSpecial(token) {
  return token.id < 4;
}
