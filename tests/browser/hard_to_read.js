// What is hard to read on a page at its present width: words broken inside, narrow columns of tables that do not scroll,
// text that is cut off, pictures without a text, and a page that scrolls sideways.
() => {
  const found = [], root = document.documentElement, content = document.querySelector(".md-content");
  if (root.scrollWidth > root.clientWidth) found.push(`the page scrolls sideways by ${root.scrollWidth - root.clientWidth} px`);
  for (const picture of content.querySelectorAll("img")) {
    if (!picture.alt.trim()) found.push(`a picture without a text: ${picture.getAttribute("src")}`);
  }
  const above = function* (element) {
    for (; element && element !== document.body; element = element.parentElement) yield element;
  };
  const scrolls = element => ["auto", "scroll"].includes(getComputedStyle(element).overflowX) && element.scrollWidth > element.clientWidth;
  for (const table of content.querySelectorAll("table:not([class])")) {
    if (!table.checkVisibility() || [...above(table)].some(scrolls)) continue;
    for (const cell of table.querySelectorAll("th, td")) {
      const {width} = cell.getBoundingClientRect();
      if (cell.checkVisibility() && width < 200) found.push(`a column of ${Math.round(width)} px: ${cell.innerText}`);
    }
  }
  const isCut = (element, right) => {
    for (const box of above(element)) {
      if (scrolls(box)) return false;
      if (getComputedStyle(box).overflowX !== "visible" && right > box.getBoundingClientRect().right + 1) return true;
    }
    return right > root.clientWidth + 1;
  };
  const texts = document.createTreeWalker(content, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (texts.nextNode()) {
    const {data, parentElement} = texts.currentNode;
    if (!parentElement.checkVisibility() || parentElement.closest("pre, script, style, .md-nav")) continue;
    for (const word of data.matchAll(/[\p{L}\p{N}_]+/gu)) {
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      const boxes = [...range.getClientRects()].filter(box => box.width > 0);
      if (new Set(boxes.map(box => Math.round(box.top))).size > 1) found.push(`a broken word: ${word[0]}`);
      if (boxes.some(box => isCut(parentElement, box.right))) found.push(`a cut word: ${word[0]}`);
    }
  }
  return found;
}
