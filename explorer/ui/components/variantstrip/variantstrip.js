// Variants as tabs.  data = {tabs: [{name, badge, tone, why}], current}.  Arrows move, Enter shows.
const bars = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const bar = parentElement.querySelector(".vs");
  const sig = JSON.stringify(data);
  if (bars.get(bar) === sig) return;
  bars.set(bar, sig);
  const old = bar.getRootNode().activeElement?.dataset?.name;
  const pick = (name) => {
    for (const b of bar.children) b.setAttribute("aria-selected", String(b.dataset.name === name));
    setTriggerValue("show", name);
  };
  bar.replaceChildren(...data.tabs.map((tab) => {
    const b = document.createElement("button");
    b.type = "button";
    b.dataset.name = tab.name;
    b.setAttribute("role", "tab");
    b.setAttribute("aria-selected", String(tab.name === data.current));
    b.tabIndex = tab.name === data.current ? 0 : -1;
    b.title = tab.why;
    b.append(Object.assign(document.createElement("span"), { className: "name", textContent: tab.name }));
    if (tab.badge) b.append(Object.assign(document.createElement("span"), { className: "badge " + tab.tone, textContent: tab.badge }));
    b.onclick = () => pick(tab.name);
    return b;
  }));
  bar.onkeydown = (e) => {
    const all = [...bar.children], at = all.indexOf(e.target);
    const to = { ArrowRight: all[(at + 1) % all.length], ArrowLeft: all[(at - 1 + all.length) % all.length], Home: all[0], End: all.at(-1) }[e.key];
    if (!to) return;
    e.preventDefault();
    to.focus();
  };
  const again = [...bar.children].find((b) => b.dataset.name === old);
  again?.focus({ preventScroll: true });
  const now = bar.querySelector('[aria-selected="true"]');
  if (now && now.offsetLeft + now.offsetWidth > bar.scrollLeft + bar.clientWidth) bar.scrollLeft = now.offsetLeft + now.offsetWidth - bar.clientWidth;
  if (now && now.offsetLeft < bar.scrollLeft) bar.scrollLeft = now.offsetLeft;
}
