// The composer: Enter sends, drafts survive a reload, files are pasted or dropped. Without this
// script it is an ordinary form.
"use strict";
(() => {
  const box = () => document.getElementById("text");
  const key = () => `draft ${location.pathname}`;
  const picker = () => document.getElementById("files");
  function check() { // what the server would refuse after the whole way
    const bytes = [...picker().files].reduce((sum, file) => sum + file.size, 0);
    picker().setCustomValidity(bytes > Number(picker().dataset.most) ? picker().title : "");
    if (bytes) picker().reportValidity();
  }
  function take(event, files) {
    if (!picker() || !files?.length) return;
    event.preventDefault();
    const all = new DataTransfer();
    for (const file of [...picker().files, ...files]) all.items.add(file);
    picker().files = all.files;
    check();
  }
  document.addEventListener("paste", (event) => take(event, event.clipboardData?.files));
  document.addEventListener("drop", (event) => take(event, event.dataTransfer?.files));
  document.addEventListener("dragover", (event) => {
    if (picker() && event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  document.addEventListener("change", (event) => { if (event.target === picker()) check(); });
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
    box().value = picker().value = "";
    box().focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.target !== box() || event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      if (box().value.trim() || picker().files.length) box().form.requestSubmit();
    } else if (event.key === "Escape") box().blur();
  });
  restore();
})();
