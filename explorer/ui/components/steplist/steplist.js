// Steps as lines of code.  data = {rows: [{line, state, why, details}], height}.
const lists = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const list = parentElement.querySelector(".sl");
  const sig = JSON.stringify(data);
  const act = (what) => setTriggerValue("action", what);
  list.style.maxHeight = data.height + "px";
  if (lists.get(list) === sig) return;
  lists.set(list, sig);
  const last = data.rows.findLastIndex((r) => r.state !== "undone");
  list.replaceChildren(...data.rows.map((r, i) => {
    const li = document.createElement("li");
    li.className = r.state + (i === last ? " here" : "");
    const go = document.createElement("button");
    go.type = "button";
    go.className = "go";
    go.textContent = r.line;
    go.title = r.state === "undone" ? "Do again up to here" : "Go back to here";
    go.setAttribute("aria-label", `${go.title}: step ${i + 1}, ${r.line}${r.why ? ". " + r.why : ""}`);
    if (i === last) go.setAttribute("aria-current", "step");
    go.onclick = () => act({ do: "jump", count: i + 1 });
    li.append(go);
    if (r.state !== "undone") {
      const x = document.createElement("button");
      x.type = "button";
      x.className = "x";
      x.textContent = "×";
      x.title = "Remove this step";
      x.setAttribute("aria-label", `Remove step ${i + 1}`);
      x.onclick = () => act({ do: "remove", at: i });
      li.append(x);
    }
    if (r.why) {
      const p = document.createElement("p");
      p.textContent = r.why;
      if (r.details) p.title = r.details;
      li.append(p);
    }
    return li;
  }));
  const here = list.querySelector(".here");               // scrollIntoView would move the page too
  if (here) list.scrollTop = Math.max(0, here.offsetTop - list.offsetTop + here.offsetHeight - list.clientHeight);
}
