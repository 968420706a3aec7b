// The tiles that tensor cores multiply.

// Which lane holds which element of the tiles that tensor cores multiply.
function fragmentViews(scene, onchoose) {
  if (scene.fragments.length === 0) return [];
  const tables = scene.fragments.map(([name, rows, cols, packed]) => {
    const lanes = unpack(packed);
    const cell = (row, col) => {
      const lane = lanes[row * cols + col];
      return make("td", {"data-lane": lane, onclick: () => onchoose(lane)}, String(lane));
    };
    return make("table", {class: "fragment"}, make("caption", {}, say(words.fragments[name], {rows, cols})),
      make("tbody", {}, ...Array.from({length: rows}, (_, row) =>
        make("tr", {}, ...Array.from({length: cols}, (_, col) => cell(row, col))))));
  });
  return [section(words.fragments.title, make("p", {class: "muted"}, words.fragments.about), make("div", {class: "fragments"}, ...tables))];
}
