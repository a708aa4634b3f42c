/* The service: a translation as a stream, and all that the model did with a sentence. */

class Fault extends Error {}

/** Ask the service; raise a `Fault` in words that a person understands. */
async function ask(path, body, signal) {
  let answer;
  try {
    answer = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Fault(say("faults.unreachable"));
  }
  if (!answer.ok) throw new Fault(await reason(answer));
  return answer;
}

async function reason(answer) {
  if (answer.status === 429 || answer.status === 503) {
    return say("faults.busy", answer.headers.get("Retry-After") || 1);
  }
  if (answer.status === 504 || answer.status === 408) return say("faults.late");
  const told = await answer.json().catch(() => null);
  const message = told?.error?.message || `HTTP ${answer.status}`;
  if (/^text: \d+ tokens/.test(message)) return say("faults.long", model.max_tokens);
  return say("faults.refused", message);
}

/** Translate, and hand each piece of text to `write` as it comes; give the whole. */
async function stream(text, write, signal) {
  const answer = await ask("translate", { text, stream: true }, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "", whole = "";
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      throw signal.aborted ? error : new Fault(say("faults.broken"));
    });
    if (done) throw new Fault(say("faults.broken"));
    const events = (waiting + value.replace(/\r\n/g, "\n")).split("\n\n");
    waiting = events.pop();
    for (const event of events) {
      const { name, data } = parsed(event);
      if (name === "error") throw new Fault(say("faults.refused", data?.error?.message));
      if (name === "done") return data.translations?.[0]?.text ?? whole;
      if (data?.text) {
        whole += data.text;
        write(whole);
      }
    }
  }
}

/** Read one event: its name, and its data as JSON. */
function parsed(event) {
  const lines = event.split("\n");
  const field = (name) => lines
    .filter((line) => line.startsWith(`${name}:`))
    .map((line) => line.slice(name.length + 1).trimStart())
    .join("\n");
  const data = field("data");
  return { name: field("event") || "message", data: data ? JSON.parse(data) : null };
}

async function explained(text, beams, signal) {
  const usual = beams === model.beam_size; // which may be over what a request may ask for
  const answer = await ask("explain", { text, beam_size: usual ? null : beams }, signal);
  return answer.json();
}
