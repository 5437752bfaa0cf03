// Buttons for what can be done with a node.
// data = {groups: [{title, refused, reasons, offers: [{op, label, name, key, refusal}]}]}
const drawn = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const box = parentElement.querySelector(".of");
  const text = JSON.stringify(data);
  if (drawn.get(box) === text) return;
  drawn.set(box, text);
  const take = ({ op, label }) => setTriggerValue("take", { op, label });
  box.replaceChildren(...data.groups.map((group) => section(group, take)));
}

function section(group, take) {
  const part = element("section");
  part.setAttribute("aria-label", group.title);
  part.append(element("h3", group.title));
  const row = element("div");
  row.append(...group.offers.map((offer) => button(offer, take)));
  if (group.offers.length) part.append(row);
  const reasons = group.reasons.map((reason) => element("p", reason));
  if (reasons.length < 2) part.append(...reasons);
  else {
    const folded = element("details");
    folded.append(element("summary", `Why ${group.refused} are not possible`), ...reasons);
    part.append(folded);
  }
  return part;
}

// One that is refused can still be reached by the keyboard, and says why.
function button(offer, take) {
  const b = element("button", offer.name);
  b.type = "button";
  b.setAttribute("aria-label", offer.name);
  if (offer.key) {
    b.append(element("kbd", offer.key));
    b.setAttribute("aria-keyshortcuts", offer.key);
  }
  if (offer.refusal) {
    b.title = offer.refusal;
    b.setAttribute("aria-disabled", "true");
    b.setAttribute("aria-description", offer.refusal);
  } else b.onclick = () => take(offer);
  return b;
}

function element(tag, text) {
  const e = document.createElement(tag);
  if (text) e.textContent = text;
  return e;
}
