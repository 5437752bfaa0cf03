// The loop-nest graph.  data = {svg, height, buffers, label, sideways, channel}.
// Other components on the page are told through window events; `link` answers with menus and marks:
//   out "tse-select" {node}, "tse-hover" {node}        in "tse-link" {selected, node, menu, lit}, "tse-pick" {node}
// A graph with a channel is looked at only: its events have the channel's name behind theirs, and Python hears nothing.
const graphs = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".lg");
  let g = graphs.get(root);
  if (!g) {
    g = new Graph(root);
    graphs.set(root, g);
  }
  root.style.height = data.height + "px";
  g.sideways = data.sideways;
  g.channel = data.channel;
  g.send = (id) => setTriggerValue("pick", { node: id ?? "" });
  g.act = (what) => setTriggerValue("action", what);
  const buffers = root.querySelector(".lg-buffers");
  buffers.hidden = data.buffers === null;
  buffers.setAttribute("aria-pressed", String(!!data.buffers));
  buffers.onclick = () => setTriggerValue("buffers", { shown: !data.buffers });
  if (data.svg !== g.text) g.mount(data.svg, data.label);
  g.listen();
  return () => g.quiet();
}

class Graph {
  constructor(root) {
    this.root = root;
    this.view = root.querySelector(".lg-view");
    this.nodes = new Map();
    this.kids = new Map();
    this.parent = new Map();
    this.zoom = 1;
    this.fitted = true;
    this.selected = this.focus = this.hover = null;
    this.link = { node: null, menu: [], lit: [] };
    this.onlink = (e) => this.linked(e.detail);
    this.onpick = (e) => { if (this.nodes.has(e.detail.node)) { this.rove(e.detail.node, false); this.select(e.detail.node); } };
    this.wire();
  }

  listen() {
    this.quiet();
    window.addEventListener("tse-pick" + this.channel, this.onpick);
    if (this.channel) return;
    window.addEventListener("tse-link", this.onlink);
    if (window.tseLink) this.linked(window.tseLink);
  }

  quiet() {
    window.removeEventListener("tse-link", this.onlink);
    window.removeEventListener("tse-pick" + this.channel, this.onpick);
  }

  // Put a new picture in; zoom and keyboard focus stay, and so does the selected node, else the function, on the screen.
  mount(text, label) {
    const first = !this.text;
    const before = new Map([this.first, this.selected].map((id) => [id, this.place(id)]));
    const focused = this.focus && this.root.getRootNode().activeElement === this.nodes.get(this.focus);
    this.text = text;
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    const svg = document.importNode(parsed, true);
    svg.querySelectorAll("script, foreignObject, a").forEach((e) => e.remove());
    this.w = parseFloat(svg.getAttribute("width")) * 4 / 3;
    this.h = parseFloat(svg.getAttribute("height")) * 4 / 3;
    svg.setAttribute("role", "tree");
    svg.setAttribute("aria-label", label);
    this.closeMenu(false);
    this.view.replaceChildren(svg);
    this.svg = svg;
    this.index();
    if (!this.nodes.has(this.focus)) this.focus = this.first;
    if (!this.nodes.has(this.selected)) this.selected = null;
    this.show(this.selected);
    this.rove(this.focus, focused);
    if (this.fitted) this.fit(); else this.scale(this.zoom);
    const anchor = this.selected ?? this.first, was = before.get(anchor);
    if (first || !was) { this.centre(); return; }
    const n = this.place(anchor), v = this.view.getBoundingClientRect();
    this.view.scrollLeft += n.left + n.width / 2 - was.left - was.width / 2;
    this.view.scrollTop += n.top - was.top;
    const now = this.place(anchor);
    if (now.left < v.left || now.right > v.right || now.top < v.top || now.bottom > v.bottom) this.centre();
  }

  // Where a node is on the screen.
  place(id) {
    return this.nodes.get(id)?.getBoundingClientRect();
  }

  // Read the tree back from Graphviz' titles ("n1->n2") and name every node for assistive tools.
  index() {
    this.nodes.clear(); this.kids.clear(); this.parent.clear();
    const ids = new Map();
    for (const g of this.svg.querySelectorAll("g.nd")) {
      ids.set(g.querySelector("title").textContent, g.id);
      this.nodes.set(g.id, g);
    }
    const adopt = (a, b) => {
      if (this.parent.has(b)) return;
      this.parent.set(b, a);
      if (!this.kids.has(a)) this.kids.set(a, []);
      this.kids.get(a).push(b);
    };
    for (const e of this.svg.querySelectorAll("g.edge.tree > title")) adopt(...e.textContent.split("->").map((n) => ids.get(n)));
    for (const id of this.nodes.keys()) if (id.includes("#")) adopt(id.split("#")[0], id);
    this.svg.querySelectorAll("title").forEach((t) => t.remove());
    this.first = this.nodes.keys().next().value ?? null;
    for (const [id, g] of this.nodes) {
      let level = 1;
      for (let p = id; this.parent.has(p); p = this.parent.get(p)) level++;
      const kind = g.classList.contains("loop") ? "loop" : g.classList.contains("block") ? "block" : g.classList.contains("buffer") ? "buffer" : g.classList.contains("func") ? "function" : "statement";
      const words = [...g.querySelectorAll("text")].map((t) => t.textContent.trim());
      for (const [name, value] of Object.entries({ role: "treeitem", tabindex: "-1", "aria-level": level, "aria-selected": "false", "data-testid": "node-" + id, "aria-label": `${kind} ${words.join(", ")}` })) g.setAttribute(name, value);
    }
  }

  show(id) {
    this.nodes.get(this.shown)?.setAttribute("aria-selected", "false");
    this.shown = id;
    this.nodes.get(id)?.setAttribute("aria-selected", "true");
  }

  // Mark at once, tell the other panes at once, then Python.
  select(id) {
    if (id === this.selected) return;
    this.selected = id;
    this.show(id);
    window.dispatchEvent(new CustomEvent("tse-select" + this.channel, { detail: { node: id } }));
    if (!this.channel) this.send(id);
  }

  rove(id, focus) {
    this.nodes.get(this.focus)?.setAttribute("tabindex", "-1");
    const g = this.nodes.get(id);
    if (!g) return;
    this.focus = id;
    g.setAttribute("tabindex", "0");
    if (focus) g.focus({ preventScroll: true });
    this.reveal(g);
  }

  reveal(g) {
    const n = g.getBoundingClientRect(), v = this.view.getBoundingClientRect();
    if (n.top < v.top) this.view.scrollTop -= v.top - n.top + 12;
    if (n.bottom > v.bottom) this.view.scrollTop += n.bottom - v.bottom + 12;
    if (n.left < v.left) this.view.scrollLeft -= v.left - n.left + 12;
    if (n.right > v.right) this.view.scrollLeft += n.right - v.right + 12;
  }

  linked(link) {
    this.link = link;
    for (const g of this.svg?.querySelectorAll("g.lit") ?? []) g.classList.remove("lit");
    for (const id of link.lit) this.nodes.get(id)?.classList.add("lit");
    if (link.selected !== this.answered) {              // Python changed the selection
      this.answered = link.selected;
      if (this.selected !== link.selected && this.nodes.has(link.selected ?? "")) {
        this.selected = link.selected;
        this.rove(this.selected, false);
      }
      this.show(this.selected);
    }
    if (this.wanted && this.wanted === link.node) this.openMenu(link.node);
  }

  // The menu of a node arrives with the answer to its selection; `wanted` remembers who asked.
  askMenu(id) {
    if (this.channel) return;
    this.rove(id, true);
    this.select(id);
    if (this.link.node === id) this.openMenu(id); else this.wanted = id;
  }

  openMenu(id) {
    this.closeMenu(false);
    this.wanted = null;
    const g = this.nodes.get(id);
    if (!g) return;
    const menu = document.createElement("div");
    menu.className = "lg-menu";
    menu.setAttribute("role", "menu");
    menu.setAttribute("aria-label", "Actions for " + g.getAttribute("aria-label"));
    let heading = "";
    for (const item of this.link.menu) {
      if (item.group !== heading) {
        heading = item.group;
        const h = document.createElement("p");
        h.textContent = heading;
        menu.append(h);
      }
      const b = document.createElement("button");
      b.type = "button";
      b.textContent = item.label;
      b.setAttribute("role", "menuitem");
      if (item.refusal) { b.setAttribute("aria-disabled", "true"); b.title = item.refusal; }
      if (item.key) { const k = document.createElement("kbd"); k.textContent = item.key; b.append(k); b.setAttribute("aria-keyshortcuts", item.key); }
      b.onclick = () => { if (item.refusal) return; this.closeMenu(true); this.seeForm(item); this.act({ node: id, op: item.op, label: item.label }); };
      menu.append(b);
    }
    if (!this.link.menu.length) menu.append(Object.assign(document.createElement("p"), { textContent: "Nothing can be scheduled here." }));
    this.root.append(menu);
    this.menu = menu;
    const r = this.root.getBoundingClientRect(), n = g.getBoundingClientRect();
    const beside = n.right - r.left + 8;                // beside the node where there is room
    menu.style.left = Math.max(4, Math.min(beside, r.width - menu.offsetWidth - 8)) + "px";
    menu.style.top = Math.max(4, Math.min(n.top - r.top, r.height - menu.offsetHeight - 8)) + "px";
    const items = [...menu.querySelectorAll("button")];
    (items.find((b) => b.getAttribute("aria-disabled") !== "true") ?? items[0])?.focus();
    menu.onkeydown = (e) => {
      const at = items.indexOf(this.root.getRootNode().activeElement);
      if (e.key === "Escape" || e.key === "Tab") this.closeMenu(true);
      else if (e.key === "ArrowDown") items[(at + 1) % items.length]?.focus();
      else if (e.key === "ArrowUp") items[(at - 1 + items.length) % items.length]?.focus();
      else {
        const hit = this.link.menu.findIndex((i) => i.key && i.key === e.key && !i.refusal);
        if (hit < 0 || e.ctrlKey || e.metaKey || e.altKey) return;
        items[hit].click();
      }
      e.preventDefault();
      e.stopPropagation();
    };
  }

  // A form opens beside the graph, which a full screen hides.
  seeForm(item) {
    if (item?.label.endsWith("…") && !item.refusal && document.fullscreenElement) document.exitFullscreen();
  }

  closeMenu(refocus) {
    const menu = this.menu;
    if (!menu) return;
    this.menu = null;                                   // first: removing it makes it lose the focus
    menu.remove();
    if (refocus) this.nodes.get(this.focus)?.focus({ preventScroll: true });
  }

  scale(zoom) {
    this.zoom = Math.min(4, Math.max(0.1, zoom));
    this.svg.setAttribute("width", this.w * this.zoom + "px");
    this.svg.setAttribute("height", this.h * this.zoom + "px");
    this.more();
  }

  // Shade the sides behind which the picture goes on.
  more() {
    const { scrollLeft: at, clientWidth, scrollWidth } = this.view;
    this.root.classList.toggle("more-left", at > 8);
    this.root.classList.toggle("more-right", at + clientWidth < scrollWidth - 8);
  }

  // Whole picture where it stays readable, else the full height or width is left to scrolling.
  fit() {
    const all = Math.min((this.view.clientWidth - 12) / this.w, (this.view.clientHeight - 12) / this.h);
    this.scale(Math.min(1.2, Math.max(0.72, all)));
  }

  centre() {
    requestAnimationFrame(() => {                        // the selected node, else the function, in the middle
      const g = this.nodes.get(this.selected ?? this.first);
      if (!g) return;
      const n = g.getBoundingClientRect(), v = this.view.getBoundingClientRect();
      this.view.scrollLeft += n.left + n.width / 2 - v.left - v.width / 2;
      this.view.scrollTop += this.selected ? n.top + n.height / 2 - v.top - v.height / 2 : n.top - v.top - 12;
      if (this.sideways && !this.selected) this.view.scrollTop = 0;
    });
  }

  zoomBy(factor) { this.fitted = false; this.scale(this.zoom * factor); }

  wire() {
    const { view, root } = this;
    const at = (e) => e.target.closest?.("g.nd")?.id ?? null;
    view.addEventListener("click", (e) => {
      this.closeMenu(false);
      this.wanted = null;
      const id = at(e);
      if (id) { this.rove(id, true); this.select(id); } else if (!this.dragged) this.select(null);
    });
    view.addEventListener("dblclick", (e) => { const id = at(e); if (id) this.askMenu(id); });
    view.addEventListener("contextmenu", (e) => { const id = at(e); if (id) { e.preventDefault(); this.askMenu(id); } });
    view.addEventListener("pointerover", (e) => {
      const id = at(e);
      if (id === this.hover) return;
      this.hover = id;
      window.dispatchEvent(new CustomEvent("tse-hover" + this.channel, { detail: { node: id } }));
    });
    view.addEventListener("pointerdown", (e) => {
      this.dragged = false;
      if (e.button !== 0 || at(e)) return;
      const from = [e.clientX + view.scrollLeft, e.clientY + view.scrollTop];
      const move = (m) => {
        if (Math.abs(m.clientX - e.clientX) + Math.abs(m.clientY - e.clientY) > 3) this.dragged = true;
        view.scrollLeft = from[0] - m.clientX;
        view.scrollTop = from[1] - m.clientY;
      };
      window.addEventListener("pointermove", move);
      window.addEventListener("pointerup", () => window.removeEventListener("pointermove", move), { once: true });
    });
    view.addEventListener("wheel", (e) => { if (e.ctrlKey) { e.preventDefault(); this.zoomBy(e.deltaY < 0 ? 1.1 : 1 / 1.1); } }, { passive: false });
    view.addEventListener("scroll", () => this.more(), { passive: true });
    new ResizeObserver(() => { if (this.svg && this.fitted) this.fit(); this.more(); }).observe(view);
    view.addEventListener("keydown", (e) => this.key(e, at(e)));
    root.querySelector(".lg-in").onclick = () => this.zoomBy(1.2);
    root.querySelector(".lg-out").onclick = () => this.zoomBy(1 / 1.2);
    root.querySelector(".lg-fit").onclick = () => { this.fitted = true; this.fit(); this.centre(); };
    const full = root.querySelector(".lg-full");
    full.onclick = () => document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen();
    root.addEventListener("fullscreenchange", () => {
      full.title = document.fullscreenElement ? "Leave full screen" : "Full screen";
      full.setAttribute("aria-label", full.title);
      this.fitted = true;
      this.fit();
      this.centre();
    });
    root.addEventListener("focusout", (e) => { if (!root.contains(e.relatedTarget)) this.closeMenu(false); });
  }

  key(e, id) {
    if (!id || e.ctrlKey || e.metaKey || e.altKey) return;
    const up = this.parent.get(id), row = up ? this.kids.get(up) : [id], i = row.indexOf(id);
    const [inward, outward, next, before] = this.sideways ? ["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"] : ["ArrowDown", "ArrowUp", "ArrowRight", "ArrowLeft"];
    const to = { [inward]: (this.kids.get(id) ?? [])[0], [outward]: up, [next]: row[i + 1], [before]: row[i - 1], Home: this.first }[e.key];
    if (to) {
      this.rove(to, true);
      clearTimeout(this.follow);                        // the selection follows when the keys rest
      this.follow = setTimeout(() => this.select(this.focus), 180);
    } else if (e.key === "Enter" || e.key === " ") this.select(id);
    else if (e.key === "m" || e.key === "ContextMenu") this.askMenu(id);
    else if (e.key === "Escape") this.select(null);
    else if (e.key === "+" || e.key === "-") this.zoomBy(e.key === "+" ? 1.2 : 1 / 1.2);
    else if (!this.channel && /^[a-z]$/.test(e.key) && !"uy".includes(e.key)) { clearTimeout(this.follow); this.select(id); if (this.link.node === id) this.seeForm(this.link.menu.find((i) => i.key === e.key)); this.act({ node: id, key: e.key }); }
    else if (!e.key.startsWith("Arrow") && e.key !== "Home") return;   // undo, redo and the browser's own keys
    e.preventDefault();
    e.stopPropagation();
  }
}
