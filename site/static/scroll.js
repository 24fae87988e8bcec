// What is wider than its box can be scrolled with the keyboard, too.
const scrollable = () => {
  for (const box of document.querySelectorAll(".highlight pre, .table-wrapper")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
};
addEventListener("load", scrollable);
addEventListener("resize", scrollable);
