
// The panel of thresholds: what would have happened to the test rows.
(() => {
  const form = document.getElementById("line");
  if (!form) return;
  const data = JSON.parse(document.getElementById("model-data").textContent).events;
  const find = (name) => document.getElementById(name);
  const slider = find("line-at"), alarm = find("cost-alarm"), miss = find("cost-miss");
  const total = data.events + data.others;

  const count = (x) => x.toLocaleString("en", { maximumFractionDigits: x < 100 ? 1 : 0 });
  const money = (x) => x.toLocaleString("en", { maximumFractionDigits: x < 100 ? 2 : 0 });
  function percent(p) {
    const nearest = Math.min(p, 1 - p);
    const places = nearest > 0 && nearest < 0.01 ? Math.min(6, 1 - Math.floor(Math.log10(100 * nearest))) : 1;
    return `${(100 * p).toFixed(places)}%`;
  }
  const threshold = (k) => String(Number(data.thresholds[k].toPrecision(12)));

  function cost(input) {
    const value = Number(input.value);
    return input.value.trim() !== "" && Number.isFinite(value) && value >= 0 ? value : null;
  }

  const costAt = (k, costs) => costs[0] * data.alarms[k] + costs[1] * (data.events - data.hits[k]);

  // Of equal costs the one that flags least.
  function cheapest(costs) {
    return data.thresholds.reduce((best, _, k) => (costAt(k, costs) < costAt(best, costs) ? k : best), 0);
  }

  let waiting = 0;
  function show() {
    const k = Number(slider.value), costs = [cost(alarm), cost(miss)];
    const hits = data.hits[k], alarms = data.alarms[k], flagged = hits + alarms;
    const isRight = !costs.includes(null);
    find("line-problem").hidden = isRight;
    find("line-problem").textContent = isRight ? "" : "A cost is a number that is 0 or larger.";
    find("line-best").disabled = !isRight;
    const texts = {
      "line-value": threshold(k) + (k === data.own ? " (the model\u2019s own)" : ""),
      "line-precision": flagged > 0 ? percent(hits / flagged) : "\u2013",
      "line-recall": percent(hits / data.events),
      "line-share": percent(flagged / total),
      "line-flags": `${count(flagged)} of ${count(total)} rows`,
      "line-cost": isRight ? money(costAt(k, costs)) : "\u2013",
      "line-least": "",
      "count-hits": count(hits),
      "count-misses": count(Math.max(0, data.events - hits)),
      "count-alarms": count(alarms),
      "count-passed": count(Math.max(0, data.others - alarms)),
    };
    if (isRight) {
      const best = cheapest(costs);
      const none = `with nothing flagged ${money(costAt(0, costs))}`;
      texts["line-least"] = best === 0 ? `least: ${none}` : `least: ${money(costAt(best, costs))} at ${threshold(best)}; ${none}`;
    }
    for (const [name, text] of Object.entries(texts)) find(name).textContent = text;
    const words = `Threshold ${texts["line-value"]}: ${texts["line-flags"]} flagged`;
    slider.setAttribute("aria-valuetext", words);
    clearTimeout(waiting);  // not at every step of the slider
    waiting = setTimeout(() => {
      find("line-spoken").textContent =
        `${words}, precision ${texts["line-precision"]}, recall ${texts["line-recall"]}, total cost ${texts["line-cost"]}.`;
    }, 400);
  }

  find("line-best").addEventListener("click", () => {
    slider.value = String(cheapest([cost(alarm), cost(miss)]));
    show();
  });
  for (const kind of ["input", "change"]) form.addEventListener(kind, show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(show, 0));
  show();
})();
