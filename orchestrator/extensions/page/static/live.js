// Keeps a page up to date: an event says that something changed, the same address is asked again,
// and the difference is put into the document. Without this script every page works by itself.
"use strict";
(() => {
  const policy = window.trustedTypes?.createPolicy("orchestrator", { createHTML: (text) => text });
  const trusted = (text) => (policy ? policy.createHTML(text) : text);
  const banner = () => document.getElementById("offline");
  const base = document.body.dataset.root; // ends with "/"; behind a proxy it may be a path
  const idle = 100; // milliseconds between two updates; more where one takes long
  let stream = null;
  let etag = null;
  let asked = false;
  let busy = false;
  let lost = null;
  let asking = 0;
  let leaving = new AbortController(); // once the next page is asked for, this one asks nothing

  const typed = (node) => node.matches?.("input:not([type=hidden]), textarea, select") &&
    (node === document.activeElement || node.value !== node.defaultValue);
  const options = {
    morphStyle: "outerHTML",
    ignoreActiveValue: true,
    callbacks: {
      beforeNodeMorphed: (old, fresh) => {
        if (old.nodeType !== 1) return true;
        if (old.tagName === "DETAILS" && old.dataset.touched) fresh.open = old.open;
        if (old.tagName === "DIALOG" || old.dataset.kept !== undefined) return false;
        if (typed(old)) return false;
        return !(old.dataset.growing && !fresh.hasChildNodes());
      },
      beforeNodeRemoved: (old) => old.dataset?.kept === undefined,
    },
  };
  document.addEventListener("toggle", (event) => {
    if (event.target.tagName === "DETAILS") event.target.dataset.touched = "1";
  }, true);

  // --- where it is looked at: the end of a chat stays in sight while it grows -------------------
  const end = () => document.documentElement.scrollHeight;
  const atEnd = () => document.querySelector("[data-bottom]") && innerHeight + scrollY >= end() - 40;
  function settle(look) { // rows get their heights when they come into sight
    let frames = 12;
    const step = () => { look(); if (--frames) requestAnimationFrame(step); };
    step();
  }
  const toEnd = () => settle(() => scrollTo(0, end()));

  let drawn = performance.now();
  setInterval(() => {
    for (const place of document.querySelectorAll("[data-elapsed]")) {
      const seconds = Math.floor((Number(place.dataset.elapsed) + performance.now() - drawn) / 1000);
      place.textContent = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
    }
  }, 1000);

  function show(text) {
    const fresh = new DOMParser().parseFromString(trusted(text), "text/html");
    const follows = atEnd();
    document.title = fresh.title;
    Idiomorph.morph(document.body, fresh.body, options);
    for (const input of document.querySelectorAll("form.act input[name=once]")) {
      const next = fresh.querySelector(`form[action="${CSS.escape(input.form.getAttribute("action"))}"] input[name=once]`);
      if (next) input.value = next.value;
    }
    drawn = performance.now();
    prepare();
    document.dispatchEvent(new Event("shown"));
    if (follows) toEnd();
  }

  async function update() {
    if (busy) { asked = true; return; }
    const { signal } = leaving;
    if (signal.aborted) return;
    const began = performance.now();
    busy = true;
    asked = false;
    try {
      const headers = etag ? { "If-None-Match": etag } : {};
      const answer = await fetch(location.href, { headers, cache: "no-store", signal });
      if (answer.status === 401) location.reload();
      else if (answer.ok) {
        etag = answer.headers.get("ETag");
        show(await answer.text());
      }
      online();
    } catch {
      if (!signal.aborted) offline();
    }
    const rest = Math.max(idle, 2 * (performance.now() - began));
    setTimeout(() => { busy = false; if (asked) update(); }, rest);
  }

  function offline() {
    lost ??= new Date();
    const text = `No connection since ${lost.toLocaleTimeString()}, trying again. What you typed stays here.`;
    const shown = banner();
    if (shown && shown.textContent !== text) { shown.textContent = text; shown.hidden = false; }
    document.body.classList.add("lost");
  }

  function online() {
    if (!lost) return;
    lost = null;
    banner().hidden = true;
    document.body.classList.remove("lost");
  }

  function open() {
    if (stream || document.hidden || leaving.signal.aborted || !document.querySelector("nav")) return;
    clearInterval(asking);
    const at = location.pathname.slice(base.length - 1);
    stream = new EventSource(`${base}events?at=${encodeURIComponent(at)}`);
    stream.addEventListener("changed", update);
    stream.addEventListener("text", (event) => {
      const { turn, html } = JSON.parse(event.data);
      const place = document.querySelector(`[data-growing="${CSS.escape(turn)}"]`);
      if (!place) { update(); return; }
      const fresh = document.createElement("div"), follows = atEnd();
      fresh.innerHTML = trusted(html);
      Idiomorph.morph(place, fresh, { morphStyle: "innerHTML" });
      if (follows) scrollTo(0, end());
    });
    stream.addEventListener("full", () => { // of many windows the newest have streams
      stream.close();
      stream = null;
      clearInterval(asking);
      asking = setInterval(() => { if (!document.hidden) update(); }, 3000);
    });
    stream.onerror = () => {
      offline();
      if (stream.readyState === EventSource.CLOSED) {
        stream = null;
        setTimeout(open, 1000 + Math.random() * 2000);
      }
    };
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { stream?.close(); stream = null; } else open();
  });
  function leave() { leaving.abort(); stream?.close(); stream = null; clearInterval(asking); }
  addEventListener("pagehide", leave);
  let called = false; // to another page, which cuts off requests before this one is left
  addEventListener("beforeunload", () => { called = true; });
  addEventListener("pageshow", () => { leaving = new AbortController(); open(); });
  addEventListener("focus", open);

  // --- forms: sent once, without leaving the place ------------------------------------------------
  let writing = false; // of messages the next one waits
  let pressed = -1000; // the second click of a double click must not press what came to the place
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("form.act")) { leave(); return; } // logging out ends what it would ask with
    event.preventDefault();
    const button = form.querySelector("button:not([type])"), writes = form.matches(".send");
    const tell = (name) => form.dispatchEvent(new Event(name, { bubbles: true }));
    if (writes && writing) { tell("waiting"); return; }
    if (!writes && (button.disabled || performance.now() - pressed < 1000)) return;
    if (writes) writing = true;
    else { pressed = performance.now(); button.disabled = true; }
    let done = false;
    try {
      const data = new FormData(form), whole = form.enctype === "multipart/form-data";
      tell("sending");
      const answer = await fetch(form.action, { method: "POST", body: whole ? data : new URLSearchParams(data) });
      done = answer.ok;
      const text = await answer.text(), here = answer.url === location.href.split("#")[0];
      if (done) {
        etag = here ? answer.headers.get("ETag") : null;
        if (here) show(text);
        else update();
        if (writes) toEnd();
      } else refused(text);
    } catch {
      if (!leaving.signal.aborted && !called) offline();
    }
    if (!done && called) await new Promise((stays) => { setTimeout(stays, 1000); });
    button.disabled = false;
    if (writes) writing = false;
    if (done || !leaving.signal.aborted) tell(done ? "sent" : "unsent"); // one that is left finds out later
  });

  function refused(text) { // what was typed stays where it is
    const found = new DOMParser().parseFromString(trusted(text), "text/html").querySelector("main p");
    const told = document.createElement("p");
    told.className = "toast";
    told.dataset.kept = "";
    told.setAttribute("role", "alert");
    told.textContent = found?.textContent ?? "This was not done.";
    const close = document.createElement("button");
    close.textContent = "Close";
    close.onclick = () => told.remove();
    told.append(" ", close);
    document.querySelector(".toast")?.remove();
    document.querySelector("main").append(told);
  }

  // --- theme, keys, login ------------------------------------------------------------------------
  const root = document.documentElement;
  const themes = ["", "light", "dark"];
  root.dataset.theme = localStorage.getItem("theme") ?? "";
  function turn() {
    root.dataset.theme = themes[(themes.indexOf(root.dataset.theme) + 1) % 3];
    localStorage.setItem("theme", root.dataset.theme);
  }
  function prepare() {
    const button = document.getElementById("theme");
    if (button) { button.hidden = false; button.onclick = turn; }
  }

  let going = false;
  document.addEventListener("keydown", (event) => {
    if (event.key === "k" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); find(); return; }
    if (event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (localStorage.getItem("keys") === "off" && event.key !== "?") return;
    const go = going && document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
    going = event.key === "g" && !going;
    const rows = [...document.querySelectorAll("[data-row]")];
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const pressed = document.activeElement?.closest("[data-ask]")?.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (go) go.click();
    else if (pressed) pressed.click();
    else if (event.key === ".") turn();
    else if (event.key === "?") help();
    else if (event.key === "/") find();
    else if (event.key === "j" || event.key === "k") {
      const row = rows[Math.max(0, Math.min(rows.length - 1, at + (event.key === "j" ? 1 : -1)))];
      (row?.querySelector("a, button, summary") ?? row)?.focus();
    } else return;
    event.preventDefault();
  });

  const find = () => document.querySelector(".find input")?.focus();

  function help() {
    let dialog = document.querySelector("dialog");
    if (!dialog) {
      dialog = document.createElement("dialog");
      const list = document.createElement("p");
      const places = [...document.querySelectorAll("[data-go]")].map((a) => `g ${a.dataset.go}  ${a.textContent.trim()}`);
      list.textContent = [...places, "/  find anything", "j k  next, previous", "a d  allow, deny", ".  theme", "?  this help", "Esc  close"].join("\n");
      const off = document.createElement("button");
      const name = () => { off.textContent = localStorage.getItem("keys") === "off" ? "Switch letters on" : "Switch letters off"; };
      off.onclick = () => { localStorage.setItem("keys", localStorage.getItem("keys") === "off" ? "on" : "off"); name(); };
      name();
      const close = document.createElement("button");
      close.textContent = "Close";
      close.onclick = () => dialog.close();
      dialog.append(list, close, " ", off);
      dialog.dataset.kept = "";
      dialog.setAttribute("aria-label", "Keys");
      document.body.append(dialog);
    }
    dialog.showModal();
  }

  const code = document.getElementById("code");
  if (code && location.hash.length > 1) {
    code.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname);
    code.form.submit();
  }
  prepare();
  open();
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named) settle(() => named.scrollIntoView());
  else if (document.querySelector("[data-bottom]")) toEnd();
})();
