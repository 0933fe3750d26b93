// The composer: Enter sends, drafts survive a reload, files are pasted or dropped. Without this
// script it is an ordinary form. What is sent leaves the box at once, and comes back if it did not
// arrive: the answer may be late, and what is typed meanwhile is the next message.
"use strict";
(() => {
  const box = () => document.getElementById("text");
  const draft = () => `draft ${location.pathname}`;
  const sent = () => `sent ${location.pathname}`; // the message of which there is no answer yet
  const joined = (...texts) => texts.filter((text) => text).join("\n");
  const picker = () => document.getElementById("files");
  function check() { // what the server would refuse after the whole way
    const bytes = [...picker().files].reduce((sum, file) => sum + file.size, 0);
    picker().setCustomValidity(bytes > Number(picker().dataset.most) ? picker().title : "");
    if (bytes) picker().reportValidity();
  }
  function choose(files) {
    const all = new DataTransfer();
    for (const file of files) all.items.add(file);
    picker().files = all.files;
    write(box().value);
  }
  function take(event, files) {
    if (!picker() || !files?.length) return;
    event.preventDefault();
    choose([...picker().files, ...files]);
    check();
  }
  document.addEventListener("paste", (event) => take(event, event.clipboardData?.files));
  document.addEventListener("drop", (event) => take(event, event.dataTransfer?.files));
  document.addEventListener("dragover", (event) => {
    if (picker() && event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  document.addEventListener("change", (event) => {
    if (event.target === picker()) { write(box().value); check(); }
  });
  function list() { // the chosen files, each with a way to remove it
    const place = document.getElementById("chosen"), files = [...picker().files];
    place.hidden = !files.length;
    place.replaceChildren(...files.map((file) => {
      const item = document.createElement("li"), button = document.createElement("button");
      button.type = "button";
      button.textContent = `${file.name} ×`;
      button.setAttribute("aria-label", `Remove ${file.name}`);
      button.onclick = () => { choose(files.filter((other) => other !== file)); check(); };
      item.append(button);
      return item;
    }));
  }

  // --- drafts -------------------------------------------------------------------------------------
  let filled = null; // the box whose draft is in it
  let files = []; // of the message that is being sent
  let more = false; // the next message is to be sent too
  const once = () => box().form.elements.once; // what is sent twice with it counts once
  function write(text) {
    if (box().value !== text) box().value = text;
    if (text) sessionStorage.setItem(draft(), text);
    else sessionStorage.removeItem(draft());
    const random = crypto.getRandomValues(new Uint32Array(4)); // another text is another message
    once().value = Array.from(random, (part) => part.toString(36)).join("-");
    list();
  }
  function taken() { // the message that was being sent, which is no longer kept
    const found = JSON.parse(sessionStorage.getItem(sent()) ?? "{}");
    sessionStorage.removeItem(sent());
    return found;
  }
  function unanswered() { // the text that was sent before the page was left, if the chat has it not
    const { id, text } = taken();
    return id && !document.querySelector(`[data-once="${CSS.escape(id)}"]`) ? text : "";
  }
  function restore() {
    if (!box() || box() === filled) return;
    filled = box();
    const kept = sessionStorage.getItem(draft()) ?? "", typed = filled.value; // before this script came
    write(joined(unanswered(), typed.startsWith(kept) ? typed : joined(kept, typed)));
  }
  document.addEventListener("input", (event) => { if (event.target === box()) write(box().value); });
  document.addEventListener("form:send", (event) => {
    if (event.target.id !== "composer") return;
    more = false;
    files = [...picker().files];
    sessionStorage.setItem(sent(), JSON.stringify({ id: once().value, text: box().value }));
    picker().value = "";
    write("");
    box().focus();
  });
  document.addEventListener("form:sent", (event) => {
    if (event.target.id !== "composer") return;
    taken();
    if (more) send();
  });
  document.addEventListener("form:wait", () => { more = true; });
  document.addEventListener("form:unsent", (event) => { // what was typed since then stands behind it
    if (event.target.id !== "composer") return;
    const { id, text } = taken(), same = id && !box().value && !picker().files.length;
    write(joined(text, box().value));
    choose([...files, ...picker().files]);
    if (same) once().value = id; // it may have arrived
  });
  document.addEventListener("page:shown", restore); // a form that is new has none
  addEventListener("pageshow", (event) => { // while it was away, another page may have had the draft
    if (event.persisted && box()) { box().value = ""; filled = null; restore(); }
  });

  // --- what this browser has seen of other chats ---------------------------------------------------
  function mark() {
    const rows = document.querySelectorAll("[data-chat]");
    if (!rows.length) return;
    const seen = JSON.parse(localStorage.getItem("seen") ?? "{}");
    seen.since ??= Date.now(); // at the first look nothing is new
    for (const row of rows) {
      const key = row.dataset.chat, at = Number(row.dataset.at);
      const read = row.hasAttribute("aria-current") && !document.hidden;
      if (read) seen[key] = Math.max(at, seen[key] ?? 0);
      row.classList.toggle("unread", at > (seen[key] ?? seen.since));
    }
    localStorage.setItem("seen", JSON.stringify(seen));
  }
  document.addEventListener("page:shown", mark);
  document.addEventListener("visibilitychange", mark);

  // --- copies: of a block of code, or of a whole answer --------------------------------------------
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const place = button.closest(button.dataset.copy);
    const texts = place.querySelectorAll(place.matches(".codeblock") ? "pre" : ".answer");
    const inner = place.querySelectorAll(".answer button"); // is no part of the text
    for (const other of inner) other.hidden = true;
    const text = [...texts].map((node) => node.innerText).join("\n\n");
    for (const other of inner) other.hidden = false;
    const word = button.querySelector(".word") ?? button, before = word.textContent;
    try {
      await navigator.clipboard.writeText(text);
      word.textContent = "Copied";
    } catch {
      word.textContent = "Select it and copy"; // browsers allow it only to pages with https
    }
    setTimeout(() => { word.textContent = before; }, 2000);
  });

  function send() {
    if (box().value.trim() || picker().files.length) box().form.requestSubmit();
  }
  document.addEventListener("keydown", (event) => {
    if (event.target !== box() || event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      send();
    } else if (event.key === "Escape") box().blur();
  });
  restore();
  mark();
})();
