// The kernel's source: coloured, and a long line continues below its first parameter.

const CODE = [
  ["comment", /\/\/.*|\/\*.*?\*\//y],
  ["text", /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/y],
  ["number", /\b(?:0[xX][\da-fA-F]+|\d[\d.]*(?:[eE][+-]?\d+)?)[uUlLfF]*\b/y],
  ["cuda", /\b(?:__\w+|threadIdx|blockIdx|blockDim|gridDim|warpSize)\b|#\w+/y],
  ["keyword", /\b(?:auto|bool|break|case|char|class|const|constexpr|continue|do|double|else|enum|false|float[24]?|for|if|inline|int[24]?|long|namespace|return|short|signed|size_t|sizeof|static|static_assert|struct|switch|template|true|typedef|typename|u?int\d+_t|union|unsigned|using|void|volatile|while)\b/y],
  ["", /\w+|\s+|[^\w\s]/y],
];

const LONGEST_PART = 24;  // characters; a longer part may be broken at any blank

// Parts of a line that stay together: each ends behind a comma or an opening bracket.
function codeParts(line) {
  const parts = [[]];
  for (let at = 0; at < line.length;) {
    for (const [kind, pattern] of CODE) {
      pattern.lastIndex = at;
      const found = pattern.exec(line)?.[0];
      if (!found) continue;
      parts.at(-1).push(kind ? make("span", {class: "code-" + kind}, found) : found);
      at += found.length;
      if (found === "(" || (/^\s/.test(found) && line[at - found.length - 1] === ",")) parts.push([]);
      break;
    }
  }
  return parts.flatMap((part) => {
    const element = make("span", {}, ...part);
    if (element.textContent.length <= LONGEST_PART) element.className = "part";
    return [element, make("wbr")];
  });
}

class CodeView {
  constructor(label) {
    this.element = make("pre", {class: "source", tabindex: 0, "aria-label": label});
  }

  load(lines, first) {
    this.first = first;
    this.now = null;
    this.lines = lines.map((line, i) => {
      const blanks = line.length - line.trimStart().length;
      const element = make("span", {class: "line"}, make("span", {class: "number"}, String(first + i)),
        ...codeParts(line.trimStart()), "\n");
      element.style.setProperty("--blanks", blanks);
      return element;
    });
    this.element.replaceChildren(...(this.lines.length > 0 ? this.lines : [words.player.sourceMissing]));
    this.element.scrollTop = 0;
  }

  mark(number) {
    const line = this.lines[number - this.first] ?? null;
    if (line === this.now) return;
    this.now?.classList.remove("now");
    this.now?.removeAttribute("aria-current");
    this.now = line;
    if (line === null) return;
    line.classList.add("now");
    line.setAttribute("aria-current", "step");
    const {scrollTop, clientHeight} = this.element, top = line.offsetTop;
    if (top < scrollTop + 40 || top > scrollTop + clientHeight - 60) this.element.scrollTop = top - clientHeight / 3;
  }
}
