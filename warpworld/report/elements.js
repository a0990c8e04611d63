// What the scripts of all pages use: elements, and whether the page is dark.

const darkness = window.matchMedia("(prefers-color-scheme: dark)");
const isDark = () => darkness.matches;

function part(tag, name, parent, text = "") {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  parent.append(element);
  return element;
}
