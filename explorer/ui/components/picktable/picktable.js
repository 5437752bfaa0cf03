// A table of rows to pick.  data = {rows: [{id, cells, why}], head, label, selected, height, group, empty, wide}.
// Rows are kept by id, so that focus, scroll and pointer stay where they are when figures change.
const tables = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".pt");
  let t = tables.get(root);
  if (!t) tables.set(root, (t = new Table(root)));
  t.send = (id) => setTriggerValue("pick", { id });
  t.take(data);
}

class Table {
  constructor(root) {
    this.root = root;
    this.head = root.querySelector("thead");
    this.body = root.querySelector("tbody");
    this.note = root.querySelector("p");
    this.kept = new Map();
    root.addEventListener("pointerleave", () => this.later && this.show(this.later));
    this.body.addEventListener("click", (e) => this.pick(e.target.closest("tr")));
    this.body.addEventListener("keydown", (e) => this.key(e));
  }

  take(data) {
    const sig = JSON.stringify(data);
    if (sig === this.sig) return;
    this.sig = sig;
    const same = data.group === this.group && data.rows.length && this.kept.size;
    const moved = data.rows.map((r) => r.id).join() !== [...this.kept.keys()].join();
    if (same && moved && this.root.matches(":hover")) {
      this.later = data;
      this.mark(data.selected);
    } else this.show(data);
  }

  show(data) {
    this.later = null;
    this.group = data.group;
    this.wide = data.wide;
    this.root.style.maxHeight = data.height ? data.height + "px" : "";
    this.root.querySelector("table").setAttribute("aria-label", data.label);
    this.note.textContent = data.rows.length ? "" : data.empty;
    const titles = data.head.map((text) => Object.assign(document.createElement("th"), { scope: "col", textContent: text }));
    if (titles.map((th) => th.textContent).join("|") !== this.titles) {
      this.titles = titles.map((th) => th.textContent).join("|");
      const row = document.createElement("tr");
      row.append(...titles);
      this.head.replaceChildren(...(titles.length ? [row] : []));
    }
    const before = this.kept;
    this.kept = new Map(data.rows.map((r) => [r.id, this.row(before.get(r.id), r)]));
    const rows = [...this.kept.values()];
    rows.forEach((tr, at) => { if (this.body.children[at] !== tr) this.body.insertBefore(tr, this.body.children[at] ?? null); });
    while (this.body.children.length > rows.length) this.body.lastChild.remove();
    this.mark(data.selected);
  }

  row(tr, { id, cells, why }) {
    if (!tr) {
      tr = document.createElement("tr");
      tr.dataset.id = id;
      tr.dataset.testid = "row-" + id;
      tr.tabIndex = -1;
    }
    tr.title = why ?? "";
    while (tr.children.length > cells.length) tr.lastChild.remove();
    cells.forEach((cell, at) => {
      const { text = "", tone, share, why: about } = typeof cell === "string" ? { text: cell } : cell;
      const td = tr.children[at] ?? tr.appendChild(document.createElement("td"));
      const sig = JSON.stringify(cell);
      if (td.dataset.sig === sig) return;
      td.dataset.sig = sig;
      td.title = about ?? "";
      td.className = share == null ? "" : "bar";
      td.classList.toggle("wide", at === this.wide);
      if (share != null) td.style.setProperty("--share", `${Math.round(share * 1000) / 10}%`);
      const span = document.createElement("span");
      span.textContent = text;
      if (tone) span.className = "badge " + tone;
      td.replaceChildren(span);
    });
    return tr;
  }

  mark(selected) {
    const rows = [...this.body.children];
    const now = rows.find((tr) => tr.dataset.id === selected);
    const stop = rows.find((tr) => tr.tabIndex === 0 && this.root.getRootNode().activeElement === tr) ?? now ?? rows[0];
    for (const tr of rows) {
      tr.setAttribute("aria-selected", String(tr === now));
      tr.tabIndex = tr === stop ? 0 : -1;
    }
  }

  pick(tr) {
    if (!tr) return;
    this.mark(tr.dataset.id);
    this.send(tr.dataset.id);
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const rows = [...this.body.children], at = rows.indexOf(e.target);
    if (e.key === "Enter" || e.key === " ") this.pick(e.target);
    const to = { ArrowDown: rows[at + 1], ArrowUp: rows[at - 1], Home: rows[0], End: rows.at(-1) }[e.key];
    if (to) {
      e.target.tabIndex = -1;
      to.tabIndex = 0;
      to.focus();
    } else if (e.key !== "Enter" && e.key !== " ") return;
    e.preventDefault();
    e.stopPropagation();
  }
}
