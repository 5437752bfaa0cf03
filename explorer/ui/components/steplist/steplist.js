// Steps as lines of code.  data = {rows: [{line, state, why, details}], height}.
const lists = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".st");
  let s = lists.get(root);
  if (!s) {
    s = new Steps(root);
    lists.set(root, s);
  }
  s.act = (what) => setTriggerValue("action", what);
  s.show(data);
  s.listen();
  return () => s.quiet();
}

class Steps {
  constructor(root) {
    this.list = root.querySelector(".sl");
    this.title = root.querySelector("h3");
    this.none = root.querySelector(".none");
    this.buttons = { u: root.querySelector(".undo"), y: root.querySelector(".redo") };
    this.buttons.u.onclick = () => this.act({ do: "undo" });
    this.buttons.y.onclick = () => this.act({ do: "redo" });
    this.onkey = (e) => this.key(e);
  }

  listen() { this.quiet(); window.addEventListener("keydown", this.onkey); }

  quiet() { window.removeEventListener("keydown", this.onkey); }

  key(e) {
    const typing = e.composedPath()[0].closest?.("input, textarea, select, [contenteditable], [role=dialog]");
    if (typing || e.defaultPrevented || e.repeat || e.ctrlKey || e.metaKey || e.altKey) return;
    const button = this.buttons[e.key];
    if (!button) return;
    e.preventDefault();
    button.click();
  }

  show(data) {
    const sig = JSON.stringify(data);
    if (this.sig === sig) return;
    this.sig = sig;
    const done = data.rows.filter((r) => r.state !== "undone").length;
    this.title.textContent = done ? `Steps (${done})` : "Steps";
    this.none.hidden = data.rows.length > 0;
    this.buttons.u.disabled = done === 0;
    this.buttons.y.disabled = done === data.rows.length;
    this.list.style.maxHeight = data.height + "px";
    this.list.replaceChildren(...data.rows.map((r, i) => this.row(r, i, i === done - 1)));
    const here = this.list.querySelector(".here");          // scrollIntoView would move the page too
    if (here) this.list.scrollTop = Math.max(0, here.offsetTop - this.list.offsetTop + here.offsetHeight - this.list.clientHeight);
  }

  row(r, i, last) {
    const li = document.createElement("li");
    li.className = r.state + (last ? " here" : "");
    const go = button("go", r.line, () => this.act({ do: "jump", count: i + 1 }));
    go.title = r.state === "undone" ? "Do again up to here" : "Go back to here";
    go.setAttribute("aria-label", `${go.title}: step ${i + 1}, ${r.line}${r.why ? ". " + r.why : ""}`);
    if (last) go.setAttribute("aria-current", "step");
    li.append(go);
    if (r.state !== "undone") {
      const x = button("x", "×", () => this.act({ do: "remove", at: i }));
      x.title = "Remove this step";
      x.setAttribute("aria-label", `Remove step ${i + 1}`);
      li.append(x);
    }
    if (r.why) {
      const p = document.createElement("p");
      p.textContent = r.why;
      if (r.details) p.title = r.details;
      li.append(p);
    }
    return li;
  }
}

function button(css, text, onclick) {
  return Object.assign(document.createElement("button"), { type: "button", className: css, textContent: text, onclick });
}
