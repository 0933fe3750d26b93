// Return what a person could not see or tell apart on the page that is shown, as sentences.
() => {
  const faults = [];
  const shown = (node) => {
    const box = node.getBoundingClientRect(), style = getComputedStyle(node);
    return node.checkVisibility() && box.width > 1 && box.height > 1 && style.visibility !== "hidden" && style.opacity !== "0" && !node.closest(".skip, caption");
  };
  const name = (node) => `${node.tagName.toLowerCase()}${node.id ? "#" + node.id : ""}${node.className && typeof node.className === "string" ? "." + node.className.split(" ").join(".") : ""} "${(node.textContent || node.value || "").trim().slice(0, 40)}"`;
  const scrolls = (node) => { // what may be wider than the window: plots, code and pictures
    for (let up = node; up; up = up.parentElement) {
      if (up.matches("pre, textarea, .plot, .waterfall, .diff, .week-scroll")) return true;
    }
    return false;
  };
  const clipped = (node) => { // is it outside of what an ancestor shows, which can be scrolled to
    for (let up = node.parentElement; up; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (/auto|scroll/.test(style.overflowY) && up.scrollHeight > up.clientHeight) return true;
    }
    return false;
  };
  if (document.scrollingElement.scrollWidth > innerWidth + 1) faults.push(`the page is ${document.scrollingElement.scrollWidth} px wide`);
  if (!document.body.matches(".bare") && document.scrollingElement.scrollHeight > innerHeight + 1) faults.push(`the page itself scrolls, ${document.scrollingElement.scrollHeight} px`);
  const important = [...document.querySelectorAll("a, button, input, select, textarea, h1, h2, h3, th, td, dt, dd, p, li, label, summary, time")].filter(shown);
  for (const node of important) {
    const box = node.getBoundingClientRect();
    if ((box.left < -1 || box.right > innerWidth + 1) && !scrolls(node)) faults.push(`outside of the window: ${name(node)} at ${Math.round(box.left)}…${Math.round(box.right)}`);
    const style = getComputedStyle(node);
    const hides = /hidden|clip/.test(style.overflowX);
    if (hides && node.scrollWidth > node.clientWidth + 1 && style.textOverflow !== "ellipsis" && style.webkitLineClamp === "none") faults.push(`cut without a sign: ${name(node)}`);
    const held = document.createRange();
    held.selectNodeContents(node);
    if (node.tagName === "TD" && box.width < 120 && held.getBoundingClientRect().height > 6 * parseFloat(style.lineHeight)) faults.push(`squeezed: ${name(node)} into ${Math.round(box.width)} px`);
  }
  for (const node of document.querySelectorAll("main *")) { // boxes that hide a part at their side
    const style = getComputedStyle(node);
    if (shown(node) && node.scrollWidth > node.clientWidth + 2 && style.overflowX === "auto" && !scrolls(node) && node.tagName !== "TEXTAREA") faults.push(`has to be scrolled sideways: ${name(node)}`);
  }
  const pressed = [...document.querySelectorAll("a, button, input:not([type=hidden]), select, textarea")].filter((node) => shown(node) && !clipped(node));
  for (const [at, one] of pressed.entries()) {
    for (const other of pressed.slice(at + 1)) {
      if (one.contains(other) || other.contains(one)) continue;
      for (const a of one.getClientRects()) {
        for (const b of other.getClientRects()) {
          const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left), high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
          if (wide > 2 && high > 2) faults.push(`one lies on the other: ${name(one)} and ${name(other)}`);
        }
      }
    }
  }
  const pane = document.querySelector("[data-bottom]"), last = pane?.querySelector(".talk > li:last-child");
  if (last) {
    const view = pane.getBoundingClientRect(), box = last.getBoundingClientRect();
    if (box.bottom > view.bottom + 2 || box.bottom < view.top) faults.push(`the last message is out of sight: it ends at ${Math.round(box.bottom)}, its pane at ${Math.round(view.bottom)}`);
    const write = document.getElementById("text")?.getBoundingClientRect();
    if (write && (write.bottom > innerHeight || write.top < 0)) faults.push("the message box is out of sight");
  }
  return [...new Set(faults)].slice(0, 30);
}
