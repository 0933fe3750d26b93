// The composer: Enter sends, drafts survive a reload. Without this script it is an ordinary form.
"use strict";
(() => {
  const box = () => document.getElementById("text");
  const key = () => `draft ${location.pathname}`;
  function restore() {
    const field = box();
    if (field && !field.value) field.value = sessionStorage.getItem(key()) ?? "";
  }
  document.addEventListener("input", (event) => {
    if (event.target === box()) sessionStorage.setItem(key(), box().value);
  });
  document.addEventListener("sent", (event) => {
    if (event.target.id !== "composer") return;
    sessionStorage.removeItem(key());
    box().value = "";
    box().focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.target !== box() || event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      if (box().value.trim()) box().form.requestSubmit();
    } else if (event.key === "Escape") box().blur();
  });
  restore();
})();
