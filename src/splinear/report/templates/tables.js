
// On a phone the rows of a wide table become blocks, where each number needs the name of its column.
// The names are not in the file: in a page of many classes they would be a fifth of it.
for (const table of document.querySelectorAll("table:not(.plain, .counts)")) {
  const names = [...table.querySelectorAll("thead th")].flatMap((cell) => Array(cell.colSpan).fill(cell.textContent));
  if (names.length <= 3) continue;
  table.classList.add("stacked");
  table.setAttribute("role", "table");  // blocks would no longer be a table to screen readers
  for (const row of table.rows) {
    row.setAttribute("role", "row");
    [...row.cells].forEach((cell, k) => {
      cell.dataset.label = names[k];
      cell.setAttribute("role", cell.tagName === "TD" ? "cell" : cell.scope === "row" ? "rowheader" : "columnheader");
    });
  }
}
