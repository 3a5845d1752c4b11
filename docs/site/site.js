// What a page does besides being read: it marks itself among the pages at the left, folds them on a phone, and
// searches the names of names.js, which is fetched when the field is first used.
const field = document.querySelector(".search input"), list = document.querySelector(".search ul");
const here = location.pathname.split("/").pop() || "index.html";

for (const link of document.querySelectorAll(".side a, .top .main a"))
  if (link.getAttribute("href") === here) link.setAttribute("aria-current", "page");
const side = document.querySelector(".side details");
if (matchMedia("(max-width: 800px)").matches) side.open = false;
document.querySelector(".side a[aria-current]")?.scrollIntoView?.({ block: "nearest" });

let asked = false, chosen = 0;
function know(then) {
  if (asked) return typeof names === "undefined" ? undefined : then();
  asked = true;
  const script = document.createElement("script");
  script.src = document.querySelector("script[data-names]").dataset.names;
  script.onload = then;
  document.head.append(script);
}

// Names that are the words, then those that begin with them, then those that have them anywhere.
function found(words) {
  const rank = ([name, where]) => {
    const text = name.toLowerCase();
    if (text === words) return 0;
    if (text.startsWith(words)) return 1;
    return text.includes(words) ? 2 : where.toLowerCase().includes(words) ? 3 : 4;
  };
  return names.map((row) => [rank(row), row]).filter(([n]) => n < 4)
    .sort((a, b) => a[0] - b[0]).slice(0, 20).map(([, row]) => row);
}

function show() {
  const words = field.value.trim().toLowerCase();
  list.hidden = words === "";
  if (list.hidden) return;
  know(() => {
    const rows = found(words).map(([name, where, address]) => {
      const row = document.createElement("li"), link = document.createElement("a");
      const more = document.createElement("small");
      link.href = address;
      link.textContent = name;
      more.textContent = where;
      link.append(more);
      row.append(link);
      return row;
    });
    if (rows.length === 0) {
      const row = document.createElement("li");
      row.className = "none";
      row.textContent = "Nothing has this name.";
      rows.push(row);
    }
    list.replaceChildren(...rows);
    choose(0);
  });
}

function choose(at) {
  const rows = list.querySelectorAll("li");
  chosen = Math.max(0, Math.min(at, rows.length - 1));
  rows.forEach((row, i) => row.classList.toggle("chosen", i === chosen));
  rows[chosen]?.scrollIntoView({ block: "nearest" });
}

field.addEventListener("input", show);
field.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") choose(chosen + 1);
  else if (event.key === "ArrowUp") choose(chosen - 1);
  else if (event.key === "Enter") list.querySelector("li.chosen a")?.click();
  else if (event.key === "Escape") list.hidden = true;
  else return;
  event.preventDefault();
});
document.addEventListener("click", (event) => {
  if (!event.target.closest(".search")) list.hidden = true;
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== field && !event.ctrlKey && !event.metaKey) {
    field.focus();
    event.preventDefault();
  }
});
