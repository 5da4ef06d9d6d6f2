
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("model-data").textContent);
  const form = document.getElementById("panel");
  const nOutputs = data.fixed.length;

  class Refused extends Error {}

  // -- the model: what each term adds ----------------------------------------------------------

  function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Float64Array.from({ length: bytes.length / 8 }, (_, k) => view.getFloat64(8 * k, true));
  }

  for (const term of data.terms) {
    for (const name of ["knots", "values", "coef", "cosines", "sines"]) {
      if (typeof term[name] === "string") term[name] = unpack(term[name]);
    }
    for (const axis of term.axes || []) {
      if (axis.knots !== null) axis.knots = unpack(axis.knots);
    }
  }

  // The place of the last of ascending numbers that is not above x.
  function lastUpTo(numbers, x) {
    let low = 0, high = numbers.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (numbers[middle] <= x) low = middle; else high = middle;
    }
    return low;
  }

  function each(of) {
    return Array.from({ length: nOutputs }, (_, output) => of(output));
  }

  const kinds = {
    levels(term, value) {
      if (value.unseen) {
        if (term.unseen === null) throw new Refused("The model refuses levels that it has not seen.");
        return term.unseen;
      }
      const n = term.values.length / nOutputs;
      return each((output) => term.values[output * n + value.level]);
    },

    lines(term, value) {
      const knots = term.knots, n = knots.length;
      const at = (output, k) => term.values[output * n + k];
      return between(term, value.number, (k, u) => each((o) => k === n - 1 ? at(o, k) : (1 - u) * at(o, k) + u * at(o, k + 1)),
        (k) => each((o) => at(o, k + 1) - at(o, k)));
    },

    pieces(term, value) {
      const n = term.knots.length, powers = term.powers;
      const of = (output, k, p) => term.coef[(output * (n - 1) + k) * powers + p];
      const sum = (output, k, u) => {
        let total = 0;
        for (let p = powers - 1; p >= 0; p--) total = total * u + of(output, k, p);
        return total;
      };
      const slope = (output, k) => {
        if (k === 0) return powers > 1 ? of(output, 0, 1) : 0;
        let total = 0;
        for (let p = 1; p < powers; p++) total += p * of(output, k, p);
        return total;
      };
      return between(term, value.number, (k, u) => each((o) => k === n - 1 ? term.end[o] : sum(o, k, u)),
        (k) => each((o) => slope(o, k)));
    },

    waves(term, value) {
      const [lo, hi, first, last] = term.range;
      const x = modulo(value.number, term.period);
      const u = first + (Math.min(Math.max(x, lo), hi) - lo) / (hi - lo) * (last - first);
      const n = term.cosines.length / nOutputs;
      return each((output) => {
        let total = 0;
        for (let k = 0; k < n; k++) {
          const angle = (k + 1) * Math.PI * u;
          total += term.cosines[output * n + k] * Math.cos(angle) + term.sines[output * n + k] * Math.sin(angle);
        }
        return total;
      });
    },
  };

  function modulo(x, period) {
    if (period === null) return x;
    const rest = x % period;
    return rest < 0 ? rest + period : rest;
  }

  // The value of a curve in pieces: at(k, u) in piece k, and rise(k) over the whole of it.
  function between(term, x, at, rise) {
    const knots = term.knots, n = knots.length;
    const first = knots[0], last = knots[n - 1];
    if (x < first || x > last) {
      if (term.outside === "error") {
        const [low, high] = [first, last].map((end) => Number(end.toPrecision(4)));
        throw new Refused(`The model refuses values outside of ${low} to ${high}.`);
      }
      const end = x < first ? first : last, k = x < first ? 0 : n - 2;
      const there = at(x < first && n > 1 ? 0 : n - 1, 0);
      if (term.outside === "constant" || n === 1) return there;
      const steps = (x - end) / (knots[k + 1] - knots[k]), rises = rise(k);
      return there.map((value, output) => value + steps * rises[output]);
    }
    const k = lastUpTo(knots, x);
    return at(k, k === n - 1 ? 0 : (x - knots[k]) / (knots[k + 1] - knots[k]));
  }

  // Where a value stands on an axis of a surface; null: nowhere.
  function place(axis, value) {
    if (value.missing) return axis.missing;
    if (value.unseen) return null;
    if (axis.knots === null) return value.level;
    const knots = axis.knots, n = knots.length, x = modulo(value.number, axis.period);
    if (n < 2 || x <= knots[0]) return 0;
    if (x >= knots[n - 1]) return n - 1;
    const k = lastUpTo(knots, x);
    return k + (x - knots[k]) / (knots[k + 1] - knots[k]);
  }

  function surface(term, row) {
    const [a, b] = term.axes.map((axis) => place(axis, row.get(axis.feature)));
    if (a === null || b === null) return each(() => 0);
    const [n, m] = term.sizes;
    const i = Math.max(0, Math.min(Math.floor(a), n - 2)), j = Math.max(0, Math.min(Math.floor(b), m - 2));
    const s = a - i, t = b - j;
    return each((output) => {
      const at = (p, q) => (p < n && q < m ? term.values[(output * n + p) * m + q] : 0);
      return (1 - s) * ((1 - t) * at(i, j) + t * at(i, j + 1)) + s * ((1 - t) * at(i + 1, j) + t * at(i + 1, j + 1));
    });
  }

  function adds(term, row) {
    if (term.type === "surface") return surface(term, row);
    const value = row.get(term.feature);
    if (value.missing) {
      if (term.missing === null) throw new Refused("The model refuses missing values.");
      return term.missing;
    }
    return kinds[term.type](term, value);
  }

  function predict(row) {
    const parts = data.terms.map((term) => adds(term, row));
    const score = each((o) => parts.reduce((sum, part) => sum + part[o], data.fixed[o]));
    const base = each((o) => data.terms.reduce((sum, term) => sum + term.mean[o], data.fixed[o]));
    const contribution = parts.map((part, k) => part.map((value, o) => value - data.terms[k].mean[o]));
    return { score, base, contribution, chance: chances(score), mean: data.link === "log" ? Math.exp(score[0]) : score[0] };
  }

  function chances(score) {
    if (data.link === "softmax") {
      const most = Math.max(...score), e = score.map((s) => Math.exp(s - most));
      const sum = e.reduce((a, b) => a + b, 0);
      return e.map((value) => value / sum);
    }
    if (data.link === "ordinal") {
      const upTo = [...data.cuts.map((cut) => 1 / (1 + Math.exp(score[0] - cut))), 1];
      return upTo.map((value, k) => value - (k ? upTo[k - 1] : 0));
    }
    if (data.link !== "logistic") return null;
    const p = score.map((s) => 1 / (1 + Math.exp(-s)));
    return data.task === "binary" ? [1 / (1 + Math.exp(score[0])), p[0]] : p;
  }

  // -- what the reader has chosen --------------------------------------------------------------

  const rows = [...form.querySelectorAll(".row[data-term]")];
  const controls = rows.filter((row) => row.dataset.feature !== undefined);

  function valueOf(row) {
    const choice = row.querySelector("select");
    if (choice) {
      if (choice.value === "missing") return { missing: true };
      const at = Number(choice.value);  // of False and True, also their numbers
      return choice.value === "unseen" ? { unseen: true } : { level: at, number: at };
    }
    const gap = row.querySelector("input[type=checkbox]");
    if (gap && gap.checked) return { missing: true };
    const number = row.querySelector("input[type=number]");
    const value = Number(number.value);
    if (number.value.trim() === "" || !Number.isFinite(value)) {
      throw new Refused(`${row.querySelector("label").textContent} needs a number.`);
    }
    return { number: value };
  }

  function chosen() {
    return new Map(controls.map((row) => [Number(row.dataset.feature), valueOf(row)]));
  }

  // -- what the reader sees --------------------------------------------------------------------

  const minus = (text) => text.replace(/-/g, "\u2212");
  const places = Math.max(0, Math.min(12, 2 - Math.floor(Math.log10(Math.max(data.reach / 4, 1e-300)))));
  function plain(x) {
    const near = Number(x.toFixed(places)) + 0;  // no negative zero
    const digits = { minimumFractionDigits: places, maximumFractionDigits: places };
    return minus(near.toLocaleString("en", digits));
  }
  const signed = (x) => (Number(x.toFixed(places)) > 0 ? "+" : "") + plain(x);
  // Under a log link terms multiply the prediction, and the sum of scores is its logarithm.
  const isFactor = data.link === "log";
  const effect = (x) => (isFactor ? `\u00d7${byDigits(Number(Math.exp(x).toPrecision(3)))}` : signed(x));
  const whole = (x) => (isFactor ? byDigits(Math.exp(x)) : plain(x));
  const percent = (p) => `${(100 * p).toFixed(p > 0.0995 && p < 0.9995 ? 1 : 2)}%`;
  const byDigits = (x) => minus(Math.abs(x) >= 1e4 ? Math.round(x).toLocaleString("en") : String(Number(x.toPrecision(5))));
  const figures = document.getElementById("figures");
  const problem = document.getElementById("problem");
  const spoken = document.getElementById("spoken");
  const output = document.getElementById("output");

  function make(name, kind, text) {
    const found = document.createElement(name);
    if (kind) found.className = kind;
    if (text !== undefined) found.textContent = text;
    return found;
  }

  function bar(share) {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg"), rect = document.createElementNS(space, "rect");
    svg.setAttribute("viewBox", "0 0 100 8");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    rect.setAttribute("width", (100 * share).toFixed(2));
    rect.setAttribute("height", "8");
    svg.append(rect);
    return svg;
  }

  function highest(numbers) {
    return numbers.reduce((best, value, k) => (value > numbers[best] ? k : best), 0);
  }

  // What is said in a sentence.
  function summary(found) {
    if (data.task === "regression") return `Predicted ${data.outputs[0]}: ${byDigits(found.mean)}`;
    if (data.task === "multilabel") {
      const named = data.classes.filter((_, k) => found.score[k] > 0);
      return `Labels: ${named.join(", ") || "none"}`;
    }
    if (data.task === "ordinal") {
      const most = highest(found.chance);
      return `Probability of ${data.classes[most]}: ${percent(found.chance[most])}`;
    }
    const k = data.task === "binary" ? Number(found.score[0] > 0) : highest(found.score);
    if (found.chance === null) return `Predicted class: ${data.classes[k]}`;
    const of = data.task === "binary" ? 1 : k;
    return `Probability of ${data.classes[of]}: ${percent(found.chance[of])}`;
  }

  function showFigures(found) {
    const [name, value] = summary(found).split(/: (.*)/s);
    const first = make("div");
    first.append(make("div", "", name), make("div", "big", value));
    figures.replaceChildren(first);
    const isOrdered = data.task === "ordinal";
    if (nOutputs === 1 && !isOrdered) return;
    const list = make("div", "chances");
    (isOrdered ? data.classes : data.outputs).forEach((label, k) => {
      const line = make("div", `chance-of c${k % 10}`);
      const text = found.chance === null ? plain(found.score[k]) : percent(found.chance[k]);
      const share = found.chance === null ? 0 : found.chance[k];
      line.append(make("span", "name", label), bar(share), make("span", "number", text));
      list.append(line);
    });
    figures.append(list);
  }

  function showParts(found, k) {
    for (const row of rows) {
      const value = found.contribution[Number(row.dataset.term)][k];
      const rect = row.querySelector("rect"), width = 60 * Math.min(1, Math.abs(value) / data.reach);
      rect.setAttribute("x", String(value < 0 ? 60 - width : 60));
      rect.setAttribute("width", width.toFixed(2));
      rect.setAttribute("class", value < 0 ? "down" : "");
      row.querySelector("b").textContent = effect(value);
    }
    document.getElementById("base").textContent = whole(found.base[k]);
    document.getElementById("score").textContent = whole(found.score[k]);
    document.getElementById("unit").textContent = isFactor ? data.outputs[k] : data.units[k];
  }

  let waiting = 0;
  function say(text) {  // not at every step of a slider
    clearTimeout(waiting);
    waiting = setTimeout(() => { spoken.textContent = text; }, 400);
  }

  function update() {
    const result = document.getElementById("result");
    try {
      const found = predict(chosen());
      const wanted = output ? Number(output.value) : 0;
      const k = wanted < 0 ? highest(found.score) : wanted;
      showFigures(found);
      showParts(found, k);
      problem.hidden = true;
      result.dataset.score = JSON.stringify(found.score);
      result.dataset.probability = JSON.stringify(found.chance);
      result.dataset.mean = JSON.stringify(found.mean);
      say(isFactor ? `${summary(found)}.` : `${summary(found)}. Score: ${plain(found.score[k])}.`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      problem.textContent = error.message;
      problem.hidden = false;
      figures.replaceChildren();
      delete result.dataset.score;
      delete result.dataset.probability;
    }
  }

  // The number beside a slider moves with it, and the other way round.
  function follow(event) {
    const row = event.target.closest(".row[data-feature]");
    if (!row) return;
    const number = row.querySelector("input[type=number]"), slider = row.querySelector("input[type=range]");
    const gap = row.querySelector("input[type=checkbox]");
    if (event.target === slider) {
      const width = Number(slider.max) - Number(slider.min);
      const digits = Math.max(0, Math.min(12, 3 - Math.floor(Math.log10(width))));
      number.value = slider.step === "any" ? String(Number(Number(slider.value).toFixed(digits))) : slider.value;
    } else if (event.target === number && slider) {
      slider.value = number.value;
    }
    if (gap) {
      if (event.target !== gap) gap.checked = false;
      number.classList.toggle("gone", gap.checked);
    }
  }

  for (const kind of ["input", "change"]) {
    form.addEventListener(kind, (event) => { follow(event); update(); });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(update, 0));
  update();
})();
