// The editor of texts: line numbers, a check while one types, what the key at the cursor means, and
// drafts that survive a reload. Without this script it is a form with the buttons Save and Check.
"use strict";
// --- the check: the same form, of which only the report is shown ---------------------------------
const checks = {
  delay: 300, // milliseconds after typing
  asked: null,
  timer: 0,
  run(form, failed) {
    this.asked?.abort();
    const data = new FormData(form), asked = new XMLHttpRequest(); // parses without running anything
    data.set("do", "check");
    this.asked = asked;
    asked.open("POST", form.action);
    asked.responseType = "document";
    asked.onload = () => {
      const fresh = asked.status === 200 && asked.response?.getElementById("report");
      if (!fresh) { failed("Not checked. Press Check to see why."); return; }
      const old = document.getElementById("report");
      if (old.querySelector("details[open]")) fresh.querySelector("details")?.setAttribute("open", "");
      old.replaceWith(document.adoptNode(fresh));
    };
    asked.onerror = () => failed("Not checked: no connection. What you typed stays here.");
    asked.send(new URLSearchParams(data));
  },
  plan(form, failed = () => {}) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.run(form, failed), this.delay);
  },
};
document.addEventListener("input", (event) => {
  const form = event.target.closest?.("form[data-preview]");
  if (form) checks.plan(form);
});

(() => {
  const form = document.querySelector("form[data-editor]");
  if (!form) return;
  const box = form.elements.namedItem("text"), base = form.elements.namedItem("base");
  const kept = document.getElementById("kept");
  const place = `text ${form.getAttribute("action")}`;
  const tell = (text) => { if (kept) kept.textContent = text; };
  const LONG = 200_000; // characters above which only the button checks

  // --- drafts -------------------------------------------------------------------------------------
  const original = box.value;
  let leaving = false;
  const isChanged = () => !box.readOnly && box.value !== original;
  function keep() {
    if (!kept) return;
    if (isChanged()) sessionStorage.setItem(place, JSON.stringify({ base: base.value, text: box.value }));
    else sessionStorage.removeItem(place);
    kept.textContent = isChanged() ? "Not saved yet." : "";
  }
  function restore() {
    if (form.dataset.fresh) { sessionStorage.removeItem(place); return; }
    const draft = JSON.parse(sessionStorage.getItem(place) ?? "null");
    if (!draft || draft.text === box.value || !kept) return;
    box.value = draft.text;
    base.value = draft.base; // so that a change that came meanwhile is noticed
    kept.textContent = "Your text of before is back, not saved yet. ";
    const drop = document.createElement("button");
    drop.type = "button";
    drop.textContent = "Drop it";
    drop.onclick = () => { sessionStorage.removeItem(place); leaving = true; location.reload(); };
    kept.append(drop);
    checks.run(form, tell);
  }
  addEventListener("beforeunload", (event) => { if (isChanged() && !leaving) event.preventDefault(); });
  form.addEventListener("submit", () => { leaving = true; });
  addEventListener("pageshow", () => { leaving = false; });

  // --- lines --------------------------------------------------------------------------------------
  const lines = document.createElement("pre");
  lines.className = "lines";
  lines.setAttribute("aria-hidden", "true");
  box.before(lines);
  let numbered = 0;
  function number() {
    const count = box.value.split("\n").length;
    if (count !== numbered) {
      numbered = count;
      lines.textContent = Array.from({ length: count }, (_, line) => line + 1).join("\n") + "\n\n";
    }
    lines.scrollTop = box.scrollTop;
  }
  box.addEventListener("scroll", () => { lines.scrollTop = box.scrollTop; });

  function goTo(line) {
    const rows = box.value.split("\n");
    const start = rows.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    box.focus();
    box.setSelectionRange(start, start + (rows[line - 1] ?? "").length);
    box.scrollTop = (line - 4) * parseFloat(getComputedStyle(box).lineHeight);
    explain();
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("[data-line]");
    if (!link) return;
    event.preventDefault();
    goTo(Number(link.dataset.line));
  });

  box.addEventListener("input", () => {
    number();
    keep();
    if (box.value.length < LONG) checks.plan(form, tell);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit(form.querySelector("button[value=save]"));
  });

  // --- what the key at the cursor means ---------------------------------------------------------------
  let help = null, shown = "";
  async function loadHelp() {
    help = {};
    const answer = await fetch(document.body.dataset.root + form.dataset.help);
    if (answer.ok) help = await answer.json();
    explain();
  }
  function findPath(text, at) { // the keys of JSON that lead to a place; * for an item of a list
    const outer = [];
    let key = "", list = false;
    for (let i = 0; i < at; i++) {
      const sign = text[i];
      if (sign === '"') {
        let end = i + 1;
        while (end < text.length && text[end] !== '"') end += text[end] === "\\" ? 2 : 1;
        if (!list && /^\s*:/.test(text.slice(end + 1, end + 9))) key = text.slice(i + 1, end);
        i = end;
      } else if (sign === "{" || sign === "[") {
        outer.push([key, list]);
        list = sign === "[";
        key = list ? "*" : "";
      } else if (sign === "}" || sign === "]") [key, list] = outer.pop() ?? ["", false];
      else if (sign === "," && !list) key = "";
    }
    return [...outer.slice(1).map(([name]) => name), key].filter((name) => name);
  }
  function explain() {
    const panel = document.getElementById("key-help");
    if (!form.dataset.help || !panel) return;
    if (!help) { loadHelp(); return; }
    const start = box.selectionStart, rest = box.value.slice(start).search(/[,{}[\]\n]/);
    const wanted = findPath(box.value, rest < 0 ? box.value.length : start + rest);
    while (wanted.length) {
      const name = Object.keys(help).find((known) => {
        const parts = known.split("/");
        return parts.length === wanted.length && parts.every((part, at) => part === "*" || part === wanted[at]);
      });
      if (name) {
        if (name === shown) return;
        shown = name;
        const title = document.createElement("h2"), text = document.createElement("p");
        title.textContent = wanted[wanted.length - 1];
        text.textContent = help[name];
        panel.replaceChildren(title, text);
        panel.hidden = false;
        return;
      }
      wanted.pop();
    }
  }
  for (const name of ["keyup", "click", "focus"]) box.addEventListener(name, explain);

  restore();
  number();
})();
