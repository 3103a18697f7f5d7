(function () {
  "use strict";
  const panel = document.getElementById("explorer-panel");
  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  const slider = document.getElementById("explorer-slider");
  const accepted = document.getElementById("explorer-accepted");
  const said = document.getElementById("explorer-said");
  let view = null;

  function put(id, text) { document.getElementById(id).textContent = text; }

  function show(i, keepField) {
    slider.value = i;
    slider.setAttribute("aria-valuetext", data.thresholds[i]);
    put("explorer-threshold", data.thresholds[i]);
    if (!keepField) accepted.value = data.accepted[i];
    data.values[i].forEach((row, m) =>
      row.forEach((text, k) => put("explorer-" + m + "-" + k, text)));
    put("explorer-uncertain", data.uncertain[i]);
    said.textContent = "At " + data.thresholds[i] + ", up to " + data.accepted[i] +
      " unnecessary treatments are accepted to treat one patient who needs it.";
    if (view) view.signal("t", data.t[i]).run();
  }

  function nearest(t) {
    let best = 0;
    data.t.forEach((one, i) => {
      if (Math.abs(one - t) < Math.abs(data.t[best] - t)) best = i;
    });
    return best;
  }

  slider.addEventListener("input", () => show(Number(slider.value), false));
  accepted.addEventListener("input", () => {
    const number = Number(accepted.value);
    if (accepted.value !== "" && number >= 0) show(nearest(1 / (1 + number)), true);
  });
  accepted.addEventListener("change", () => show(Number(slider.value), false));

  // The slider shows a row of the long table at a time; on paper the whole table stands for it.
  const all = document.getElementById("explorer-all");
  all.open = false;
  let wasOpen = false;
  window.addEventListener("beforeprint", () => { wasOpen = all.open; all.open = true; });
  window.addEventListener("afterprint", () => { all.open = wasOpen; });

  panel.hidden = false;
  document.getElementById("explorer-still").hidden = true;
  show(data.start, false);
  vegaEmbed("#explorer-chart", data.chart, {
    actions: false, renderer: "svg", ast: true, tooltip: { theme: "light" },
    loader: { load: () => Promise.reject(new Error("this page loads nothing")) }
  }).then((made) => {
    view = made.view;
    view.signal("t", data.t[Number(slider.value)]).run();
    panel.dataset.ready = "yes";
  });
})();
