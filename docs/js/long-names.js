// Lets a path, a dotted name or a call, in text or a title, break where its parts meet: on a phone, no part is broken.
for (const code of document.querySelectorAll("article :not(pre) > code, article h1")) {
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT), found = [];
  while (texts.nextNode()) found.push(texts.currentNode);
  for (const text of found) {
    const parts = text.data.split(/(?<=[\p{L}\p{N}_)\]][/.(\[,=])(?=\S)/u);
    text.replaceWith(...parts.flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part])));
  }
}
