// The editor of texts: lines, a check while one types, help for keys, drafts that survive a reload.
"use strict";
const checks = { // shows its report
  delay: 300, // ms after typing
  asked: null,
  timer: 0,
  run(form, tell = () => {}) {
    this.asked?.abort();
    const data = new FormData(form), asked = this.asked = new XMLHttpRequest(); // parses, runs nothing
    data.set("do", "check");
    asked.open("POST", form.action);
    asked.responseType = "document";
    asked.onload = asked.onerror = () => {
      const old = document.getElementById("report"), fresh = asked.response?.getElementById("report");
      if (!fresh) { tell("Not checked; what you typed stays here. Check tells why."); return; }
      const [was, is] = [old, fresh].map((one) => one.querySelector("#difference"));
      if (was && is) is.open = was.open;
      old.replaceWith(document.adoptNode(fresh));
      this.drawn();
    };
    asked.send(new URLSearchParams(data));
  },
  drawn() {},
  plan(...what) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.run(...what), this.delay);
  },
};
document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-preview]");
  if (form) checks.plan(form);
});

(() => {
  const form = document.querySelector("form[data-editor]");
  if (!form) return;
  const box = form.elements.text, base = form.elements.base;
  const kept = document.getElementById("kept");
  const tell = (text) => { if (kept) kept.textContent = text; };

  const place = `text ${form.getAttribute("action")}`;
  let leaving = false;
  const isChanged = () => box.value !== box.defaultValue;
  function keep() {
    if (isChanged()) sessionStorage.setItem(place, JSON.stringify({ base: base.value, text: box.value }));
    else sessionStorage.removeItem(place);
    tell(isChanged() ? "Not saved yet." : "");
    document.querySelector(".note.done")?.toggleAttribute("hidden", isChanged());
  }
  function restore() {
    if (form.dataset.fresh) sessionStorage.removeItem(place);
    const draft = JSON.parse(sessionStorage.getItem(place) ?? "null");
    if (!draft || draft.text === box.value || !kept) return;
    box.value = draft.text;
    base.value = draft.base; // notices what came meanwhile
    tell("Your text is back, not saved yet.");
    const drop = kept.nextElementSibling;
    drop.hidden = false;
    drop.onclick = () => { sessionStorage.removeItem(place); leaving = true; location.reload(); };
    checks.run(form, tell);
  }
  addEventListener("beforeunload", (event) => { if (isChanged() && !leaving) event.preventDefault(); });
  form.addEventListener("submit", () => { leaving = true; });
  addEventListener("pageshow", () => { leaving = false; });

  const lines = box.previousElementSibling;
  lines.hidden = false;
  function number() {
    const rows = box.value.split("\n").map((_, line) => line + 1);
    for (const { dataset: { line } } of document.querySelectorAll("#report .bad a")) rows[line - 1] = `● ${line}`;
    lines.textContent = `${rows.join("\n")}\n\n`;
    lines.scrollTop = box.scrollTop;
  }
  checks.drawn = number;
  box.addEventListener("scroll", () => { lines.scrollTop = box.scrollTop; });

  function goTo(line) {
    const rows = box.value.split("\n").slice(0, line), end = rows.join("\n").length;
    box.focus();
    box.setSelectionRange(end - rows.at(-1).length, end);
    box.scrollTop = (line - 4) * parseFloat(getComputedStyle(box).lineHeight);
    explain();
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-line]");
    if (!link) return;
    event.preventDefault();
    goTo(Number(link.dataset.line));
  });
  box.addEventListener("input", () => {
    number();
    keep();
    checks.plan(form, tell);
  });
  form.elements.message?.addEventListener("input", () => checks.plan(form, tell));
  box.addEventListener("keydown", (event) => {
    if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit(form.querySelector("button[value=save]"));
  });

  let help = null;
  function findPath(text) { // keys to the end of JSON; * is an item
    const outer = [];
    let key = "", list = false;
    for (const [sign, word] of text.matchAll(/"((?:\\.|[^"\\])*)"\s*:|"(?:\\.|[^"\\])*"|[{}[\],]/gs)) {
      if (word !== undefined) key = word;
      else if (sign === "{" || sign === "[") {
        outer.push([key, list]);
        list = sign === "[";
        key = list ? "*" : "";
      } else if (sign === "}" || sign === "]") [key, list] = outer.pop() ?? ["", false];
      else if (sign === "," && !list) key = "";
    }
    return [...outer.slice(1).map(([name]) => name), key].filter((name) => name);
  }
  async function explain() {
    if (!form.dataset.help) return;
    help ??= fetch(document.body.dataset.root + form.dataset.help).then((answer) => answer.json());
    const known = Object.entries(await help);
    const start = box.selectionStart, rest = box.value.slice(start).search(/[,{}[\]\n]/);
    const wanted = findPath(box.value.slice(0, rest < 0 ? undefined : start + rest));
    const fits = ([name]) => {
      const parts = name.split("/");
      return parts.length === wanted.length && parts.every((part, at) => part === "*" || part === wanted[at]);
    };
    let found;
    while (wanted.length && !(found = known.find(fits))) wanted.pop();
    if (!found) return;
    const panel = document.getElementById("key-help");
    panel.firstChild.textContent = wanted.at(-1);
    panel.lastChild.textContent = found[1];
    panel.hidden = false;
  }
  for (const name of ["keyup", "click"]) box.addEventListener(name, explain);

  restore();
  number();
  const line = Number(new URLSearchParams(location.search).get("line"));
  if (line) goTo(line);
})();
