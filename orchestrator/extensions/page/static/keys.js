// Keys, their help, and the theme.
"use strict";
(() => {
  const root = document.documentElement;
  const themes = ["", "light", "dark"];
  root.dataset.theme = localStorage.getItem("theme") ?? "";
  function changeTheme() {
    root.dataset.theme = themes[(themes.indexOf(root.dataset.theme) + 1) % themes.length];
    localStorage.setItem("theme", root.dataset.theme);
  }
  function prepare() { // without this script the button would do nothing, so it is hidden
    const button = document.getElementById("theme");
    if (button) { button.hidden = false; button.onclick = changeTheme; }
  }
  document.addEventListener("page:shown", prepare);
  prepare();

  const areOff = () => localStorage.getItem("keys") === "off";
  const find = () => document.querySelector(".find input")?.focus();
  const write = () => document.getElementById("text")?.focus();

  function move(step) {
    const rows = [...document.querySelectorAll("[data-row]")];
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    const row = rows[Math.max(0, Math.min(rows.length - 1, at + step))];
    (row?.querySelector("a, button, summary") ?? row)?.focus();
  }

  const keys = {
    ".": changeTheme,
    "?": help,
    "/": find,
    w: write,
    j: () => move(1),
    k: () => move(-1),
  };
  let going = false; // the next letter names a screen
  document.addEventListener("keydown", (event) => {
    const { key } = event;
    if (key === "k" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); find(); return; }
    if (event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (areOff() && key !== "?") return;
    const go = going && document.querySelector(`[data-go="${CSS.escape(key)}"]`);
    going = key === "g" && !going;
    const question = document.activeElement?.closest("[data-ask]");
    const pressed = question?.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (go) go.click();
    else if (pressed) pressed.click();
    else if (Object.hasOwn(keys, key)) keys[key]();
    else return;
    event.preventDefault();
  });

  function help() {
    const dialog = document.querySelector("dialog.keys") ?? makeHelp();
    dialog.showModal();
  }

  function makeHelp() {
    const dialog = document.createElement("dialog"), list = document.createElement("p");
    const places = [...document.querySelectorAll("[data-go]")].map((a) => `g ${a.dataset.go}  ${a.textContent.trim()}`);
    list.textContent = [...places, "/  find anything", "w  write a message", "j k  next, previous",
      "a d  allow, deny", ".  theme", "?  this help", "Esc  close"].join("\n");
    const off = document.createElement("button"), close = document.createElement("button");
    const name = () => { off.textContent = areOff() ? "Switch letters on" : "Switch letters off"; };
    off.onclick = () => { localStorage.setItem("keys", areOff() ? "on" : "off"); name(); };
    name();
    close.textContent = "Close";
    close.onclick = () => dialog.close();
    dialog.append(list, close, " ", off);
    dialog.className = "keys";
    dialog.dataset.kept = "";
    dialog.setAttribute("aria-label", "Keys");
    document.body.append(dialog);
    return dialog;
  }
})();
