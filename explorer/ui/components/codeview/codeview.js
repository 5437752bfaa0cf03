// Read-only code.  data = {text, lang, spans, folds, pane, ...} or {rows, labels, lang, ...} for a diff.
// Highlighting is done here: a kernel of 1000 lines would cost the server half a second otherwise.
const panes = new WeakMap();

export default function ({ data, parentElement }) {
  const box = parentElement.querySelector(".cv");
  let p = panes.get(box);
  if (!p) { p = new Pane(box); panes.set(box, p); }
  box.style.height = data.height + "px";
  box.setAttribute("aria-label", data.label);
  p.quiet();
  p.show(data);
  p.listen();
  return () => p.quiet();
}

class Pane {
  constructor(box) {
    this.box = box;
    this.onselect = (e) => this.mark("hit", this.ranges(e.detail.node), true);
    this.onhover = (e) => this.mark("hov", this.ranges(e.detail.node), false);
    this.onlink = (e) => this.linked(e.detail);
    box.addEventListener("click", (e) => this.click(e));
  }

  listen() {
    const { channel = "" } = this.data;
    window.addEventListener("tse-select" + channel, this.onselect);
    window.addEventListener("tse-hover" + channel, this.onhover);
    if (channel) return;
    window.addEventListener("tse-link", this.onlink);
    if (window.tseLink) this.linked(window.tseLink);
  }

  quiet() {
    const { channel = "" } = this.data ?? {};
    window.removeEventListener("tse-select" + channel, this.onselect);
    window.removeEventListener("tse-hover" + channel, this.onhover);
    window.removeEventListener("tse-link", this.onlink);
  }

  show(data) {
    const sig = JSON.stringify([data.text, data.rows, data.lang, data.folds, data.refused]);
    this.data = data;
    if (sig === this.sig) return;
    const top = this.box.scrollTop;
    this.sig = sig;
    this.lines = new Map();
    this.box.replaceChildren(data.rows ? this.diff(data) : this.code(data));
    this.box.scrollTop = top;
  }

  code(data) {
    const out = document.createDocumentFragment();
    const html = highlight(data.text, data.lang).split("\n");
    const folds = new Map(data.folds.map((f) => [f[0], f]));
    for (let n = 1; n <= html.length; n++) {
      const fold = folds.get(n);
      if (!fold) { out.append(this.line(n, html[n - 1])); continue; }
      const details = element("details", "fold");
      details.append(Object.assign(document.createElement("summary"), { textContent: fold[2] }));
      for (; n <= fold[1]; n++) {
        details.append(this.line(n, html[n - 1]));
        if (data.refused?.[n]) details.open = true;
      }
      n--;
      out.append(details);
    }
    if (data.cut) out.append(Object.assign(element("p", "more"), { textContent: `${data.cut} more lines are not shown; the download has them.` }));
    const copy = element("button", "copy");
    copy.type = "button";
    copy.textContent = "Copy";
    copy.onclick = () => navigator.clipboard.writeText(this.data.text).then(() => { copy.textContent = "Copied"; setTimeout(() => { copy.textContent = "Copy"; }, 1200); });
    out.prepend(copy);
    return out;
  }

  line(n, html) {
    const l = element("div", "l");
    l.innerHTML = `<i data-n="${n}">${n}</i><span>${html || " "}</span>`;
    this.lines.set(n, l);
    const why = this.data.refused?.[n];
    if (why) {
      l.classList.add("bad");
      l.append(Object.assign(element("span", "why"), { textContent: why }));
    }
    return l;
  }

  diff(data) {
    const out = document.createDocumentFragment();
    const head = element("div", "d head");
    for (const label of data.labels) head.append(element("i"), Object.assign(document.createElement("span"), { textContent: label }));
    out.append(head);
    const changed = data.rows.map((r) => r.op !== "same");
    const near = (i) => changed.slice(Math.max(0, i - 3), i + 4).some(Boolean);
    if (!changed.some(Boolean)) out.append(Object.assign(element("p", "more"), { textContent: "The two texts are the same." }));
    for (let i = 0; i < data.rows.length; i++) {
      if (near(i) || !changed.some(Boolean)) { out.append(row(data.rows[i], data.lang)); continue; }
      let j = i;
      while (j < data.rows.length && !near(j)) j++;
      const details = element("details", "fold");
      details.append(Object.assign(document.createElement("summary"), { textContent: j - i === 1 ? "1 equal line" : `${j - i} equal lines` }));
      for (; i < j; i++) details.append(row(data.rows[i], data.lang));
      i--;
      out.append(details);
    }
    return out;
  }

  ranges(node) { const s = this.data.spans?.[node]; return s ? [s] : []; }

  linked(link) {
    const own = this.ranges(link.selected);
    const marks = own.length ? own : link.marks?.[this.data.pane] ?? [];
    this.mark("hit", marks, link.selected !== this.scrolled);
    this.scrolled = link.selected;
  }

  mark(css, ranges, scroll) {
    for (const l of this.box.querySelectorAll(".l." + css)) l.classList.remove(css);
    let first = null;
    for (const [a, b] of ranges) for (let n = a; n <= b; n++) {
      const l = this.lines?.get(n);
      l?.classList.add(css);
      first ??= l;
    }
    if (!scroll || !first) return;
    const fold = first.closest("details");
    if (fold) fold.open = true;
    const top = first.offsetTop - this.box.offsetTop;
    if (top < this.box.scrollTop || top > this.box.scrollTop + this.box.clientHeight - 40) this.box.scrollTop = Math.max(0, top - this.box.clientHeight / 3);
  }

  // A line number selects the innermost node whose lines hold it.
  click(e) {
    const n = +e.target.dataset?.n;
    if (!n || !this.data.spans) return;
    let best = null;
    for (const [node, [a, b]] of Object.entries(this.data.spans)) if (a <= n && n <= b && (!best || b - a <= best.size)) best = { node, size: b - a };
    if (best) window.dispatchEvent(new CustomEvent("tse-pick" + (this.data.channel ?? ""), { detail: { node: best.node } }));
  }
}

function element(tag, css) { const e = document.createElement(tag); if (css) e.className = css; return e; }

function row(r, lang) {
  const e = element("div", "d " + r.op);
  e.innerHTML = `<i>${r.a || ""}</i><span class="${r.a ? "a" : "pad"}">${r.a ? marked(r.ta, r.ma, lang) : ""}</span><i>${r.b || ""}</i><span class="${r.b ? "b" : "pad"}">${r.b ? marked(r.tb, r.mb, lang) : ""}</span>`;
  return e;
}

function marked(text, marks, lang) {
  if (!marks.length) return highlight(text, lang);
  let out = "", at = 0;
  for (const [a, b] of marks) { out += escape(text.slice(at, a)) + "<mark>" + escape(text.slice(a, b)) + "</mark>"; at = b; }
  return out + escape(text.slice(at));
}

function escape(s) { return s.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]); }

const LANGS = {
  python: /(?<c>#.*)|(?<s>"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(?<t>@[\w.]+|\b[TIR]\.(?:thread_binding|grid|serial|parallel|vectorized|unroll|sblock\w*|axis\.\w+|Buffer|prim_func|init|reads|writes|where)\b)|(?<k>\b(?:def|class|for|in|with|return|if|elif|else|while|and|or|not|import|from|as|None|True|False|lambda|assert|break|continue|pass)\b)|(?<n>\b0x[\da-fA-F]+\b|\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b)/g,
  cuda: /(?<c>\/\/.*|\/\*[\s\S]*?\*\/)|(?<s>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(?<t>\b__\w+(?:__)?\b|\b(?:threadIdx|blockIdx|blockDim|gridDim)\.[xyz]\b|#\s*\w+)|(?<k>\b(?:if|else|for|while|do|return|switch|case|break|continue|const|static|extern|struct|union|typedef|using|template|typename|class|public|private|inline|operator|sizeof|void|bool|char|short|int|long|float|double|half2?|unsigned|signed|u?int\d+_t|uchar\d?|ushort\d?|uint\d?|int[234]|float[234]|nv_bfloat16\w*|asm|volatile|true|false|namespace|alignas)\b)|(?<n>\b0x[\da-fA-F]+\w*\b|\b\d+(?:\.\d*)?(?:e[+-]?\d+)?[fFuUlLh]*\b)/g,
};

function highlight(text, lang) {
  const rule = LANGS[lang];
  if (!rule) return escape(text);
  let out = "", at = 0;
  for (const m of text.matchAll(rule)) {
    const css = Object.keys(m.groups).find((g) => m.groups[g] !== undefined);
    out += escape(text.slice(at, m.index)) + m[0].split("\n").map((part) => `<b class="${css}">${escape(part)}</b>`).join("\n");
    at = m.index + m[0].length;
  }
  return out + escape(text.slice(at));
}
