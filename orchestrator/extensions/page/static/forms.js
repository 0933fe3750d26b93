// Sends forms once, without leaving the place; what was refused is told, and what was typed stays.
"use strict";
(() => {
  const doubleClick = 1000; // milliseconds in which a second click is not meant
  let writing = false; // of messages the next one waits
  let pressed = -doubleClick; // the second click must not press what came to the place
  let called = false; // to another page, which cuts off requests before this one is left
  addEventListener("beforeunload", () => { called = true; });
  addEventListener("pageshow", () => { called = false; });

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("form.act")) { page.leave(); return; } // logging out ends what it would ask with
    event.preventDefault();
    const button = event.submitter ?? form.querySelector("button:not([type])");
    const writes = form.matches(".send");
    const tell = (name) => form.dispatchEvent(new Event(`form:${name}`, { bubbles: true }));
    if (writes && writing) { tell("wait"); return; }
    if (!writes && (button.disabled || performance.now() - pressed < doubleClick)) return;
    const data = new FormData(form, button), whole = form.enctype === "multipart/form-data";
    if (writes) writing = true;
    else { pressed = performance.now(); button.disabled = true; }
    let done = false;
    try {
      tell("send");
      const answer = await fetch(form.action, { method: "POST", body: whole ? data : new URLSearchParams(data) });
      done = answer.ok;
      const text = await answer.text();
      if (!done) refuse(text);
      else if (answer.url === location.href.split("#")[0]) page.show(text);
      else page.update(true);
    } catch {
      if (!page.isLeft() && !called) page.offline();
    }
    if (!done && called) await new Promise((stays) => { setTimeout(stays, doubleClick); });
    button.disabled = false;
    if (writes) writing = false;
    if (done || !page.isLeft()) tell(done ? "sent" : "unsent"); // one that is left finds out later
  });

  function refuse(text) {
    const found = page.parse(text).querySelector("main p");
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

  const code = document.getElementById("code"); // of the link that logs in
  if (code && location.hash.length > 1) {
    code.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname);
    code.form.submit();
  }
})();
