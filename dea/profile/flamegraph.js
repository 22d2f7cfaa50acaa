// Zoom and search. Without it the picture still shows everything; hover titles need no script.
(function () {
  const left = 10, width = 1180, letter = 6.7;
  const boxes = Array.from(document.querySelectorAll("#boxes > g"));
  const number = (box, key) => parseFloat(box.dataset[key]);

  function place(box, x, wide) {
    const rect = box.querySelector("rect"), text = box.querySelector("text");
    rect.setAttribute("x", x);
    rect.setAttribute("width", Math.max(wide - 0.5, 0.4));
    text.setAttribute("x", x + 4);
    const letters = Math.floor((wide - 6) / letter), name = box.dataset.n;
    text.textContent = letters <= 2 ? "" : name.length <= letters ? name : name.slice(0, letters - 1) + "…";
  }

  function zoom(focus) {
    const from = number(focus, "x"), span = number(focus, "w"), depth = number(focus, "d");
    for (const box of boxes) {
      const x = number(box, "x"), wide = number(box, "w"), inside = x >= from - 0.01 && x + wide <= from + span + 0.01;
      const above = number(box, "d") < depth && x <= from + 0.01 && x + wide >= from + span - 0.01;
      box.classList.toggle("hidden", !(above || (inside && number(box, "d") >= depth)));
      box.classList.toggle("faded", above);
      if (above) place(box, left, width);
      else if (inside) place(box, left + ((x - from) / span) * width, (wide / span) * width);
    }
  }

  function search(text) {
    let pattern = null;
    try { pattern = text ? new RegExp(text, "i") : null; } catch (error) { pattern = null; }
    let share = 0, end = -1;
    for (const box of boxes) { // they come depth first, so a match below a match is not counted twice
      const hit = pattern !== null && pattern.test(box.dataset.n);
      box.classList.toggle("marked", hit);
      if (hit && number(box, "x") >= end - 0.01) {
        share += number(box, "w") / width;
        end = number(box, "x") + number(box, "w");
      }
    }
    document.getElementById("found").textContent = pattern ? "marked: " + (100 * share).toFixed(1) + " %" : "";
  }

  for (const box of boxes) box.addEventListener("click", () => zoom(box));
  document.getElementById("search").addEventListener("click", () => {
    search(prompt("Mark boxes whose name matches (regular expression)", "") || "");
  });
})();
