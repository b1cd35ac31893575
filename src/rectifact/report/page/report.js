"use strict";
(() => {
  const root = document.documentElement;
  const PAGE = Number(root.dataset.pageRows);

  const system = matchMedia("(prefers-color-scheme: dark)");
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // Folded parts: open where a link leads, and on paper
  const unfold = (place) => {
    for (let box = place; box; box = box.parentElement) if (box.tagName === "DETAILS") box.open = true;
  };
  const follow = () => {
    const place = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!place) return;
    unfold(place);
    place.querySelectorAll(":scope > details").forEach(unfold);
    place.scrollIntoView();
  };
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(unfold));
  follow();

  // Charts: what a mark is and its value, on hover, by touch and with the arrow keys
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "status");
  tip.dir = "auto";
  tip.hidden = true;
  document.body.append(tip);
  const NEAR = 24; // pixels
  const middle = (mark) => {
    const box = mark.getBoundingClientRect();
    return [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  };
  const hide = () => {
    document.querySelectorAll(".seen").forEach((mark) => mark.classList.remove("seen"));
    tip.hidden = true;
  };
  const point = (mark) => {
    hide();
    mark.classList.add("seen");
    tip.textContent = mark.dataset.tip;
    tip.hidden = false;
    const [x, y] = middle(mark);
    const top = Math.max(4, mark.getBoundingClientRect().top - tip.offsetHeight - 8);
    const left = Math.min(Math.max(4, x - tip.offsetWidth / 2), root.clientWidth - tip.offsetWidth - 4);
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(top < 4 ? y + 12 : top) + scrollY}px`;
  };
  const chart = (box) => {
    box.querySelectorAll("title").forEach((title) => {
      title.parentNode.dataset.tip = title.textContent; // the browser would show it a second time
      title.remove();
    });
    const marks = () => [...box.querySelectorAll(box.querySelector(".wide").offsetParent ? ".wide [data-tip]" : ".narrow [data-tip]")];
    let place = -1;
    const look = (event) => {
      const exact = event.target.closest("[data-tip]");
      if (exact) return point(exact);
      let best = null;
      let least = NEAR;
      marks().forEach((mark) => {
        const [x, y] = middle(mark);
        const far = Math.hypot(x - event.clientX, y - event.clientY);
        if (far < least) [best, least] = [mark, far];
      });
      return best ? point(best) : hide();
    };
    box.addEventListener("pointermove", look);
    box.addEventListener("pointerdown", look);
    box.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") hide(); });
    box.addEventListener("blur", hide);
    box.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape") hide();
      const all = marks();
      if (!step || !all.length) return;
      event.preventDefault();
      place = (place + step + all.length) % all.length;
      point(all[place]);
    });
  };
  document.querySelectorAll(".chart").forEach(chart);
  addEventListener("scroll", hide, { passive: true });

  // Tables that are wider than the page say so
  const wide = new ResizeObserver((boxes) => boxes.forEach(({ target }) => {
    target.previousElementSibling.hidden = target.scrollWidth <= target.clientWidth + 1;
  }));
  document.querySelectorAll(".table .scroll").forEach((box) => wide.observe(box));

  // Tables: the rows are data; cells are made from text alone, never from markup
  const hundredths = (share) => {
    const value = 100 * share; // a tie goes to the even digit, as in the sentences
    return (Math.abs(value % 1) === 0.25 ? value - 0.01 * Math.sign(value) : value).toFixed(1);
  };
  const share = (value) => (value >= 0.9995 && value < 1 ? "> 99.9%" : value > 0 && value < 0.0005 ? "< 0.1%" : `${hundredths(value)}%`);
  const points = (value) => {
    const text = hundredths(value);
    return Number(text) < 0 ? text : `+${text.replace("-", "")}`;
  };
  const number = (value, decimals) => {
    if (value === 0 || Math.abs(value) >= 10 ** (1 - decimals)) return value.toFixed(decimals);
    const rounded = Number(value.toPrecision(2)); // too small for the decimals of its column
    return Math.abs(rounded) < 1e-4 ? rounded.toExponential() : String(rounded);
  };
  const shown = (value, { form, decimals }) => {
    if (value === null || Number.isNaN(value)) return "–";
    if (form === "share") return share(value);
    if (form === "points") return points(value);
    return form === "number" ? number(value, decimals) : String(value);
  };
  const order = (sign) => (a, b) => {
    if (a === b) return 0;
    if (a === null) return 1; // gaps come last, up or down
    if (b === null) return -1;
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    return sign * String(a).localeCompare(String(b), undefined, { numeric: true });
  };
  const table = (box) => {
    const { columns, rows } = JSON.parse(box.querySelector("script").textContent);
    const body = box.querySelector("tbody");
    const heads = [...box.querySelectorAll("th")];
    const status = box.querySelector("[role=status]");
    const turns = [...box.querySelectorAll("[data-turn]")];
    turns.forEach((button) => { button.hidden = rows.length <= PAGE; });
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
            cell.className = columns[i].look;
            cell.dir = "auto";
            cell.textContent = shown(value, columns[i]);
            line.append(cell);
          });
          return line;
        }),
      );
      if (!found.length) {
        const cell = document.createElement("td");
        cell.colSpan = columns.length;
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
        const first = columns[i].form === "text" ? "ascending" : "descending";
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
      const has = (value, i) => shown(value, columns[i]).toLowerCase().includes(wanted);
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
