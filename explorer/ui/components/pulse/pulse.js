// Asks Python for more.  data = {every, turn}: every so many milliseconds, or once for each turn.
const clocks = new WeakMap();
const SOON_MS = 15;

export default function ({ data, parentElement, setTriggerValue }) {
  const box = parentElement.querySelector(".pulse");
  const tick = () => setTriggerValue("tick", true);
  // Asked for in the middle of a run, more would end that run, and leave what it replaces behind.
  const busy = () => document.querySelector("[data-test-script-state=running]");
  const soon = () => busy() ? setTimeout(soon, SOON_MS) : tick();
  clearInterval(clocks.get(box));
  if (data.every) clocks.set(box, setInterval(() => document.hidden || busy() || tick(), data.every));
  else requestAnimationFrame(() => setTimeout(soon));       // after the next paint
  return () => clearInterval(clocks.get(box));
}
