// Keeps a page up to date: an event says that what it shows has changed, the same address is asked
// again, and the difference is put into the document. Without scripts every page works by itself.
//
// This script comes first. The others use `page`, the object at its end, and these events:
//   page:shown   at the document: its content was replaced by what the server shows now
//   form:wait    at a form: a message before it is still being sent, so this one has to wait
//   form:send    at a form: it is being sent
//   form:sent    at a form: it has arrived, and the page shows what came of it
//   form:unsent  at a form: it was refused, or there is no knowing whether it has arrived
"use strict";
(() => {
  const policy = window.trustedTypes?.createPolicy("orchestrator", { createHTML: (text) => text });
  const trusted = (text) => (policy ? policy.createHTML(text) : text);
  const parse = (text) => new DOMParser().parseFromString(trusted(text), "text/html");
  const base = document.body.dataset.root; // ends with "/"; behind a proxy it may be a path
  const idle = 100; // milliseconds between two updates
  const pollEvery = 5000; // milliseconds, in a window without a stream
  let stream = null;
  let polling = 0;
  let busy = false;
  let asked = false; // for another update, while one is under way
  let lost = null; // when the connection was lost
  let leaving = new AbortController(); // once the next page is asked for, this one asks nothing

  // --- what is shown ------------------------------------------------------------------------------
  const isTyped = (node) => node.matches?.("input:not([type=hidden]), textarea, select") &&
    (node === document.activeElement || node.value !== node.defaultValue);
  const options = {
    morphStyle: "outerHTML",
    ignoreActiveValue: true,
    callbacks: {
      beforeNodeMorphed: (old, fresh) => {
        if (old.nodeType !== 1) return true;
        if (old.tagName === "DETAILS" && old.dataset.touched) fresh.open = old.open;
        if (old.tagName === "DIALOG" || old.dataset.kept !== undefined) return false;
        if (isTyped(old)) return false;
        return !(old.dataset.growing && !fresh.hasChildNodes());
      },
      beforeNodeRemoved: (old) => old.dataset?.kept === undefined,
    },
  };
  document.addEventListener("toggle", (event) => {
    if (event.target.tagName === "DETAILS") event.target.dataset.touched = "1";
  }, true);

  let drawn = performance.now();
  setInterval(() => {
    for (const place of document.querySelectorAll("[data-elapsed]")) {
      const seconds = Math.floor((Number(place.dataset.elapsed) + performance.now() - drawn) / 1000);
      place.textContent = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
    }
  }, 1000);

  function show(text) {
    const fresh = parse(text);
    document.title = fresh.title;
    Idiomorph.morph(document.body, fresh.body, options);
    for (const input of document.querySelectorAll("form.act input[name=once]")) {
      const next = fresh.querySelector(`form[action="${CSS.escape(input.form.getAttribute("action"))}"] input[name=once]`);
      if (next) input.value = next.value;
    }
    drawn = performance.now();
    document.dispatchEvent(new Event("page:shown"));
  }

  // --- asking again -------------------------------------------------------------------------------
  // What the server made of a form stays in sight: the same address would show the screen without it.
  const isPosted = () => document.body.dataset.posted !== undefined;

  async function update(anew = false) {
    if (isPosted()) return;
    if (busy) { asked = true; return; }
    const { signal } = leaving;
    if (signal.aborted) return;
    busy = true;
    asked = false;
    try {
      const headers = polling ? { "X-Poll": "1" } : {};
      if (!anew) headers["If-None-Match"] = `W/"${document.body.dataset.seen}"`;
      const answer = await fetch(location.href, { headers, cache: "no-store", signal });
      if (answer.status === 401) location.reload();
      else if (answer.ok) show(await answer.text());
      online();
    } catch {
      if (!signal.aborted) offline();
    }
    setTimeout(() => { busy = false; if (asked) update(); }, idle);
  }

  const banner = () => document.getElementById("offline");
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

  // --- the stream ---------------------------------------------------------------------------------
  function poll(on) {
    clearInterval(polling);
    polling = on ? setInterval(() => { if (!document.hidden) update(); }, pollEvery) : 0;
  }

  function open() {
    if (stream || document.hidden || leaving.signal.aborted || !document.querySelector("nav")) return;
    poll(false);
    const at = encodeURIComponent((location.pathname + location.search).slice(base.length - 1));
    stream = new EventSource(`${base}events?at=${at}&seen=${document.body.dataset.seen ?? ""}`);
    stream.addEventListener("changed", (event) => {
      if (JSON.parse(event.data) === document.body.dataset.seen) online();
      else update();
    });
    stream.addEventListener("text", (event) => {
      const { turn, html } = JSON.parse(event.data);
      const place = document.querySelector(`[data-growing="${CSS.escape(turn)}"]`);
      if (!place) { update(); return; }
      const fresh = document.createElement("div");
      fresh.innerHTML = trusted(html);
      Idiomorph.morph(place, fresh, { morphStyle: "innerHTML" });
    });
    stream.addEventListener("full", () => { // of many windows the newest have streams
      close();
      poll(true);
    });
    stream.onopen = online;
    stream.onerror = () => {
      offline();
      if (stream.readyState === EventSource.CLOSED) {
        stream = null;
        setTimeout(open, 1000 + Math.random() * 2000);
      }
    };
  }

  function close() { stream?.close(); stream = null; }
  function leave() { leaving.abort(); close(); poll(false); }

  document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
  addEventListener("pagehide", leave);
  addEventListener("pageshow", () => { leaving = new AbortController(); open(); });
  addEventListener("focus", open);

  window.page = {
    parse, // makes a document of the server's HTML
    show, // shows the server's HTML of this address
    update, // asks for this address; true shows the answer even if nothing has changed
    offline, // says that there is no connection
    leave, // asks nothing more: the next page was asked for
    isLeft: () => leaving.signal.aborted,
  };
  open();
})();
