// Asks Python for more.  data = {every, turn}: every so many milliseconds, or once for each turn.
const clocks = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const box = parentElement.querySelector(".pulse");
  const tick = () => setTriggerValue("tick", true);
  clearInterval(clocks.get(box));
  if (data.every) clocks.set(box, setInterval(() => document.hidden || tick(), data.every));
  else requestAnimationFrame(() => setTimeout(tick));       // after the next paint
  return () => clearInterval(clocks.get(box));
}
