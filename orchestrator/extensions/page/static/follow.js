// Where the panes of a page are looked at. A pane with `data-bottom`, such as a chat, keeps its end in
// sight while it grows, unless its reader has scrolled up; then a button leads back to the end.
// Other panes keep their place when the page is reloaded, or reached by Back.
"use strict";
(() => {
  const near = 40; // pixels from the end that count as the end
  const left = new WeakSet(); // panes whose readers have scrolled up
  const tops = new WeakMap(); // where a pane was
  const panes = () => document.querySelectorAll("[data-pane]");
  const isAtEnd = (pane) => pane.scrollHeight - pane.scrollTop - pane.clientHeight <= near;
  const follows = (pane) => pane.dataset.bottom !== undefined && !left.has(pane);

  function toEnd(pane) {
    left.delete(pane);
    pane.scrollTop = pane.scrollHeight;
    offer(pane, false);
  }

  function offer(pane, shown) { // to go to the end
    let button = pane.querySelector(":scope > .below");
    if (!button) {
      if (!shown) return;
      button = document.createElement("button");
      button.type = "button";
      button.className = "below";
      button.dataset.kept = "";
      button.textContent = "New below ↓";
      button.onclick = () => toEnd(pane);
      pane.append(button);
    }
    button.hidden = !shown;
  }

  // Rows get their heights when they come into sight, pictures when they have come, and answers grow.
  const sizes = new ResizeObserver((entries) => {
    for (const pane of new Set(entries.map((entry) => entry.target.closest("[data-bottom]")))) {
      if (!pane) continue;
      if (follows(pane)) toEnd(pane);
      else offer(pane, !isAtEnd(pane));
    }
  });

  document.addEventListener("scroll", (event) => {
    const pane = event.target;
    if (pane.dataset?.bottom === undefined) return;
    if (isAtEnd(pane)) { left.delete(pane); offer(pane, false); }
    else if (pane.scrollTop < (tops.get(pane) ?? 0)) left.add(pane); // content that grows moves nothing up
    tops.set(pane, pane.scrollTop);
  }, true);

  function watch() {
    for (const pane of document.querySelectorAll("[data-bottom]")) {
      sizes.observe(pane);
      for (const part of pane.children) if (!part.matches(".below")) sizes.observe(part);
    }
  }
  document.addEventListener("page:shown", watch);
  document.addEventListener("form:send", (event) => { // who writes wants to see it
    if (event.target.matches(".send")) document.querySelectorAll("[data-bottom]").forEach(toEnd);
  });

  document.addEventListener("keydown", (event) => { // nothing is chosen: the content scrolls
    const pane = [...panes()].at(-1);
    if (event.target !== document.body || !pane) return;
    const screenful = 0.9 * pane.clientHeight, whole = pane.scrollHeight;
    const steps = { PageDown: screenful, PageUp: -screenful, " ": screenful, ArrowDown: near,
      ArrowUp: -near, Home: -whole, End: whole };
    if (!Object.hasOwn(steps, event.key)) return;
    event.preventDefault();
    pane.scrollBy(0, steps[event.key]);
  });

  addEventListener("pagehide", () => {
    const kept = [...panes()].map((pane) => pane.scrollTop);
    history.replaceState({ ...history.state, panes: kept }, "");
  });
  function restore() {
    const named = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (named) {
      named.closest("[data-bottom]") && left.add(named.closest("[data-bottom]"));
      let frames = 12;
      const step = () => { named.scrollIntoView(); if (--frames) requestAnimationFrame(step); };
      step();
    } else [...panes()].forEach((pane, index) => {
      if (!follows(pane)) pane.scrollTop = history.state?.panes?.[index] ?? 0;
    });
    document.querySelector(".list [aria-current]")?.scrollIntoView({ block: "nearest" });
  }
  restore();
  watch();
})();
