"use strict";
(() => {
  const root = document.documentElement;
  const PAGE = Number(root.dataset.pageRows);

  // Colours of the charts: on screen those of the page, light or dark; on paper always the light ones
  const onScreen = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const onPaper = (name) => ({ "--ink": "#1c2430", "--line": "#d5dbe3" })[name];
  const colours = (colour) => {
    const line = colour("--line");
    const axis = { gridcolor: line, linecolor: line, zerolinecolor: line };
    return { font: { color: colour("--ink") }, xaxis: axis, yaxis: axis };
  };
  const charts = [];
  const recolour = (colour) => {
    const changes = {};
    for (const [part, settings] of Object.entries(colours(colour))) {
      for (const [key, value] of Object.entries(settings)) changes[`${part}.${key}`] = value;
    }
    charts.forEach((chart) => Plotly.relayout(chart, changes));
  };
  const system = matchMedia("(prefers-color-scheme: dark)");
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
    root.dataset.theme = dark ? "light" : "dark";
    recolour(onScreen);
  });
  system.addEventListener("change", () => recolour(onScreen));
  addEventListener("beforeprint", () => recolour(onPaper));
  addEventListener("afterprint", () => recolour(onScreen));

  // Charts
  const plot = (source) => {
    const { data, layout } = JSON.parse(source.textContent);
    const chart = document.getElementById(source.dataset.chart);
    const { font, xaxis, yaxis } = colours(onScreen);
    const frame = {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { ...font, family: "system-ui, sans-serif" },
      margin: { l: 60, r: 15, t: 10, b: 50 },
      hovermode: "closest",
      legend: { orientation: "h", y: 1.12 },
      ...layout,
    };
    frame.xaxis = { automargin: true, ...xaxis, ...(layout.xaxis || {}) };
    frame.yaxis = { automargin: true, ...yaxis, ...(layout.yaxis || {}) };
    Plotly.newPlot(chart, data, frame, { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d"] });
    charts.push(chart);
  };
  document.querySelectorAll("script[data-chart]").forEach(plot);

  // Tables: the rows are data; cells are made from text alone, never from markup
  const shown = (value, form) => {
    if (value === null || Number.isNaN(value)) return "–";
    if (form === "share") return value >= 0.9995 && value < 1 ? "> 99.9 %" : `${(100 * value).toFixed(1)} %`;
    if (form === "number") {
      const rounded = Number(value.toPrecision(4));
      return rounded !== 0 && Math.abs(rounded) < 1e-4 ? rounded.toExponential() : String(rounded);
    }
    return String(value);
  };
  const order = (sign) => (a, b) => {
    if (a === b) return 0;
    if (a === null) return 1; // gaps come last, up or down
    if (b === null) return -1;
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    return sign * String(a).localeCompare(String(b), undefined, { numeric: true });
  };
  const table = (box) => {
    const { forms, rows } = JSON.parse(box.querySelector("script").textContent);
    const body = box.querySelector("tbody");
    const heads = [...box.querySelectorAll("th")];
    const status = box.querySelector("[role=status]");
    const turns = [...box.querySelectorAll("[data-turn]")];
    let found = rows;
    let page = 0;
    const draw = () => {
      const pages = Math.max(1, Math.ceil(found.length / PAGE));
      page = Math.min(Math.max(page, 0), pages - 1);
      body.replaceChildren(
        ...found.slice(page * PAGE, (page + 1) * PAGE).map((row) => {
          const line = document.createElement("tr");
          row.forEach((value, i) => {
            const cell = document.createElement("td");
            cell.className = forms[i];
            cell.dir = "auto";
            cell.textContent = shown(value, forms[i]);
            line.append(cell);
          });
          return line;
        }),
      );
      if (!found.length) {
        const cell = document.createElement("td");
        cell.colSpan = forms.length;
        cell.className = "empty";
        cell.textContent = rows.length ? "No matching rows." : "No rows.";
        body.append(document.createElement("tr"));
        body.firstChild.append(cell);
      }
      const all = `${rows.length.toLocaleString("en")} ${rows.length === 1 ? "row" : "rows"}`;
      const some = found.length === rows.length ? all : `${found.length.toLocaleString("en")} of ${all}`;
      status.textContent = pages > 1 ? `${some}, page ${page + 1} of ${pages}` : some;
      turns[0].disabled = page === 0;
      turns[1].disabled = page === pages - 1;
    };
    heads.forEach((head, i) => {
      head.querySelector("button").addEventListener("click", () => {
        const first = forms[i] === "text" ? "ascending" : "descending";
        const now = head.getAttribute("aria-sort");
        const next = now === "none" ? first : now === "ascending" ? "descending" : "ascending";
        heads.forEach((other) => other.setAttribute("aria-sort", other === head ? next : "none"));
        const compare = order(next === "ascending" ? 1 : -1);
        rows.sort((a, b) => compare(a[i], b[i]));
        find();
      });
    });
    const search = box.querySelector("input");
    const find = () => {
      const wanted = search.value.trim().toLowerCase();
      const has = (value, i) => shown(value, forms[i]).toLowerCase().includes(wanted);
      found = wanted ? rows.filter((row) => row.some(has)) : rows;
      page = 0;
      draw();
    };
    search.addEventListener("input", find);
    turns.forEach((button) => button.addEventListener("click", () => { page += Number(button.dataset.turn); draw(); }));
    draw();
  };
  document.querySelectorAll(".table").forEach(table);
  root.dataset.ready = "yes";
})();
