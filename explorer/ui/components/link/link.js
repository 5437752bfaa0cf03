// Pass what Python knows about the selection to the other components; late comers read window.tseLink.
export default function ({ data }) {
  window.tseLink = data;
  window.dispatchEvent(new CustomEvent("tse-link", { detail: data }));
}
