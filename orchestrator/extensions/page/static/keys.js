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
  const areOff = () => localStorage.getItem("keys") === "off";
  function prepare() { // without this script the button would do nothing, so it is hidden
    const button = document.getElementById("theme"), letters = document.getElementById("letters");
    if (!button) return;
    button.hidden = false;
    button.onclick = changeTheme;
    letters.textContent = `Switch letters ${areOff() ? "on" : "off"}`;
    letters.onclick = () => { localStorage.setItem("keys", areOff() ? "on" : "off"); prepare(); };
    const asks = document.querySelectorAll("[data-ask]"); // the only question needs no choosing
    if (asks.length === 1 && document.activeElement === document.body && /\binbox$/.test(location.pathname))
      asks[0].focus({ preventScroll: true });
  }
  document.addEventListener("page:shown", prepare);
  prepare();

  const find = () => document.querySelector(".find input")?.focus();
  const help = () => document.getElementById("keys")?.togglePopover();
  function write() {
    const box = document.getElementById("text");
    if (box) box.focus();
    else if (document.querySelector('[data-go="c"]')) location.assign(`${document.body.dataset.root}chats/new`);
  }

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
})();
