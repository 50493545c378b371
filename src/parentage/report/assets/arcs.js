// The table of arcs: sorted by any column, unknown values last.

function makeSortable(table) {
  const body = table.tBodies[0];
  const heads = all("th", table.tHead);
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const rising = head.getAttribute("aria-sort") === "descending"
        || (!head.hasAttribute("aria-sort") && !head.classList.contains("number"));
      const rows = [...body.rows].map((row, i) => ({ row, i, value: row.cells[column].dataset.value }));
      const numeric = head.classList.contains("number");
      rows.sort((a, b) => {
        if (numeric && (a.value === "" || b.value === "")) {
          return (a.value === "") - (b.value === "") || a.i - b.i;
        }
        const order = numeric ? a.value - b.value : a.value.localeCompare(b.value);
        return (rising ? order : -order) || a.i - b.i;
      });
      body.append(...rows.map(({ row }) => row));
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    });
  });
}
